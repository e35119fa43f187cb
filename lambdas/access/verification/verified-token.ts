/** Content of a verified access token: the caller of a request. */

import type { Partner } from '../../ports/rows/clients.ts'
import { DEFAULT_TENANT } from '../../ports/store/tenants.ts'
import type { MemberLimits } from '../access.ts'
import type { ClientAuth } from '../claims.ts'

export type VerifiedToken = {
  readonly tenant: string
  /** Client id. With an external issuer `app@auth.example.org/realm`, which never matches a local client. */
  readonly client: string
  /** Subject of the user, or the client id if there is no user. With an external issuer the issuer is appended, as in `client`. */
  readonly subject: string
  /** Login name of the user. */
  readonly user?: string
  readonly scopes: readonly string[]
  /** Id of the patient in context, without the resource type. */
  readonly patient?: string
  /** Id of the encounter in context, without the resource type. */
  readonly encounter?: string
  /** Present for an exchanged token: id of the client whose view it gives, or `SEEN_AS_SCOPES`. It reads only, and uses no exports. */
  readonly seenAs?: string
  /** Resource of the user: `Practitioner/1`, or an absolute URL. */
  readonly fhirUser?: string
  /** Ids of the patients that a RelatedPerson acts for. */
  readonly actsFor?: readonly string[]
  /** Whether `patient/` scopes of a client's own token without a patient cover all patients or none. Absent: `all`. */
  readonly patientScopesWithoutContext?: 'all' | 'none'
  readonly clientAuth: ClientAuth
  /** `strong`: writes of the client wait until searches find them. Absent: the setting `consistency` applies. */
  readonly consistency?: 'eventual' | 'strong'
  /** Set if the issuer's setting `assertion` selects the client. The caller then has no user, even if `subject` is not the client. */
  readonly actsForItself?: boolean
  /** Organization for which the client is a partner. Only tokens of this server have it. */
  readonly partner?: Partner
  /** Limits of the data of `patient` for a partner. Absent: the token opens no data of the patient. */
  readonly memberLimits?: MemberLimits
  /** Set for a caller without credentials whom the setting publicRead lets read. */
  readonly isPublic?: true
  /** Expiry in milliseconds since 1970. */
  readonly expires: number
  /** Value of `iss`. Empty if there is no token, as in `implicitToken`. */
  readonly issuer: string
}

const NO_TOKEN = { tenant: DEFAULT_TENANT, clientAuth: 'assertion', expires: Number.POSITIVE_INFINITY, issuer: '' } as const

/**
 * Returns a token with full access, for servers that require no token. The client counts as authenticated by assertion, so that it may
 * start exports.
 */
export const implicitToken = (client: string): VerifiedToken => ({
  ...NO_TOKEN,
  client,
  subject: client,
  scopes: ['system/*.cruds', 'system/admin'],
})

/** Token of a caller that sent none, for requests that need none. It has no scopes, and its tenant does not exist. */
export const ANONYMOUS_TOKEN: VerifiedToken = { ...NO_TOKEN, tenant: '', client: '', subject: '', scopes: [], clientAuth: 'none' }
