/** Content of a verified access token: the caller of a request. */
import { DEFAULT_TENANT } from '../../ports/store/tenants.ts'
import type { ClientAuth } from '../claims.ts'

export type VerifiedToken = {
  readonly tenant: string
  /** Client id. With an external issuer `app@auth.example.org/realm`, which never matches a local client. */
  readonly client: string
  /** Subject of the user, or the client id if there is no user. With an external issuer in the form of `client`. */
  readonly subject: string
  /** Login name of the user. */
  readonly user?: string
  readonly scopes: readonly string[]
  /** Ids of the patient and the encounter in context. */
  readonly patient?: string
  readonly encounter?: string
  /** Resource of the user: `Practitioner/1`, or an absolute URL. */
  readonly fhirUser?: string
  /** Ids of the patients that a RelatedPerson acts for. */
  readonly actsFor?: readonly string[]
  /** The setting of this name; absent: `all`. */
  readonly patientScopesWithoutContext?: 'all' | 'none'
  readonly clientAuth: ClientAuth
  /** `strong`: writes of the client wait until searches find them. Absent: the setting of this name. */
  readonly consistency?: 'eventual' | 'strong'
  /** True if the client acts for itself by the settings of an external issuer, although the subject is not the client. */
  readonly actsForItself?: boolean
  /** Milliseconds since 1970. */
  readonly expires: number
  /** Value of `iss`. Empty if there is no token, as in `implicitToken`. */
  readonly issuer: string
}

const NO_TOKEN = { tenant: DEFAULT_TENANT, clientAuth: 'assertion', expires: Number.POSITIVE_INFINITY, issuer: '' } as const

/** Returns full access for servers that require no token. The client counts as authenticated by assertion, so that it may start exports. */
export const implicitToken = (client: string): VerifiedToken => ({
  ...NO_TOKEN,
  client,
  subject: client,
  scopes: ['system/*.cruds', 'system/admin'],
})

/** Caller without a token, for requests that need none. It has no scopes, and its tenant does not exist. */
export const ANONYMOUS_TOKEN: VerifiedToken = { ...NO_TOKEN, tenant: '', client: '', subject: '', scopes: [], clientAuth: 'none' }
