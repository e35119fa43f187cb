/** Claims of the access tokens that this server issues: JWTs signed with RS256. https://www.rfc-editor.org/rfc/rfc9068 */
import type { PartnerKind } from '../ports/rows/clients.ts'

export type AccessClaims = {
  /** Base URL of this server, also in `aud`: the server issues tokens for itself. */
  readonly iss: string
  readonly aud: string
  /** Subject of the user, or the client id with client_credentials. */
  readonly sub: string
  /** Issue time and, in `exp`, expiry: seconds since 1970. */
  readonly iat: number
  readonly exp: number
  readonly jti: string
  readonly typ: typeof ACCESS_TYP
  /** Client id. `client_id` has the same value. */
  readonly azp: string
  readonly client_id: string
  readonly scope: string
  /** Session id, the same in all tokens of a grant, so that one revocation covers them. `session_state` has the same value. */
  readonly sid: string
  readonly session_state: string
  readonly acr: '0' | '1'
  /** Credential generations of client and user at issue time. Revoking one of the two revokes the token. */
  readonly client_generation?: string
  readonly user_generation?: string
  /** Method by which the client authenticated. */
  readonly client_auth: ClientAuth
  /** Consistency of the client, if it is registered with one. `strong`: its writes wait until searches find them. */
  readonly consistency?: 'eventual' | 'strong'
  /** Kind and identifiers, as `system|value`, of the partner that the client is. */
  readonly partner?: PartnerKind
  readonly partner_identifiers?: readonly string[]
  /**
   * Limits of the data of the patient in context, for a partner. Without them the token opens no data of the patient. `at`: issue time.
   * `since`: instant of the oldest resources. Both in milliseconds since 1970. `excluded`: labels of excluded data, as `system|code`.
   */
  readonly member_limits?: { readonly at: number; readonly since?: number; readonly excluded?: readonly string[] }
  /** Id of the patient in context, without the resource type, as SMART defines it. */
  readonly patient?: string
  /** Id of the encounter in context, without the resource type. */
  readonly encounter?: string
  readonly fhirUser?: string
  /** Ids of the patients that a RelatedPerson acts for. */
  readonly acts_for?: readonly string[]
  readonly preferred_username?: string
  /** Present in exchanged tokens: id of the client whose view the token gives, or `SEEN_AS_SCOPES`. */
  readonly seen_as?: string
  /** `jti` of the token that was exchanged for this one. Its revocation covers this token too. */
  readonly subject_jti?: string
  /** Client id, and the IP address of the client in the other two claims. Present only without a user. */
  readonly clientId?: string
  readonly clientHost?: string
  readonly clientAddress?: string
  /** Tenants that the token opens: a string or an array. The setting `tenantClaim` is the name of the claim. */
  readonly [name: string]: unknown
}

/**
 * Claims that have another meaning in tokens or introspection. A server whose setting `tenantClaim` names one of them does not start.
 * https://www.iana.org/assignments/jwt
 */
export const RESERVED_CLAIMS: readonly string[] = [
  ...['iss', 'sub', 'aud', 'exp', 'nbf', 'iat', 'jti', 'typ', 'azp', 'client_id', 'scope', 'sid', 'session_state', 'acr', 'amr'],
  ...['auth_time', 'nonce', 'at_hash', 'c_hash', 'events', 'cnf', 'act', 'may_act', 'token_use', 'token_type', 'active', 'username'],
  ...[
    'client_auth',
    'consistency',
    'client_generation',
    'user_generation',
    'acts_for',
    'preferred_username',
    'seen_as',
    'subject_jti',
    'clientId',
    'clientHost',
    'clientAddress',
    'partner',
    'partner_identifiers',
    'member_limits',
  ],
  ...['patient', 'encounter', 'fhirUser', 'profile', '__proto__'],
]

/** Value of `seen_as` in a token that was exchanged for scopes. No client has this id, because registered ids contain no colon. */
export const SEEN_AS_SCOPES = 'fhir:scopes'

export type ClientAuth = 'secret' | 'assertion' | 'none'

/**
 * Values of the claim `typ` in tokens of this server. They differ, so that an ID token is never accepted as an access token, or the other
 * way round.
 */
export const ACCESS_TYP = 'Bearer'
export const ID_TYP = 'ID'
