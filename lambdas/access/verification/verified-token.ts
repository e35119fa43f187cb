/** What is known of who asks, once it is proved. */
import { DEFAULT_TENANT } from '../../ports/store/tenants.ts'
import type { ClientAuth } from '../claims.ts'

export type VerifiedToken = {
  readonly tenant: string
  /** Of another issuer: `app@auth.example.org/realm`, which is nobody's here. */
  readonly client: string
  /** The user's, or the client's own id; of another issuer as `client`. */
  readonly subject: string
  /** The name the user logs in with. */
  readonly user?: string
  readonly scopes: readonly string[]
  /** In context: the ids of a Patient and of an Encounter. */
  readonly patient?: string
  readonly encounter?: string
  /** `Practitioner/1`, or with a base before it. */
  readonly fhirUser?: string
  /** The ids of the patients a RelatedPerson cares for. */
  readonly actsFor?: readonly string[]
  /** The setting of this name; absent: `all`. */
  readonly patientScopesWithoutContext?: 'all' | 'none'
  readonly clientAuth: ClientAuth
  /** `strong`: the client's writes wait until searches find them. Absent: the setting of this name. */
  readonly consistency?: 'eventual' | 'strong'
  /** True if the token has no user by the settings of its issuer, although its subject is not the client. */
  readonly actsForItself?: boolean
  /** Milliseconds since 1970. */
  readonly expires: number
  /** Empty: it is no token; see `implicitToken`. */
  readonly issuer: string
}

const NO_TOKEN = { tenant: DEFAULT_TENANT, clientAuth: 'assertion', expires: Number.POSITIVE_INFINITY, issuer: '' } as const

/** Who is asked for no token may do all there is, as if it had proved itself in the strongest way. */
export const implicitToken = (client: string): VerifiedToken => ({
  ...NO_TOKEN,
  client,
  subject: client,
  scopes: ['system/*.cruds', 'system/admin'],
})

/** Who has said nothing, where that is enough: may do nothing, and belongs to a tenant that nobody has. */
export const ANONYMOUS_TOKEN: VerifiedToken = { ...NO_TOKEN, tenant: '', client: '', subject: '', scopes: [], clientAuth: 'none' }
