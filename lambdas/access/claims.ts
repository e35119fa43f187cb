/** What our access tokens say: JWTs, RS256. https://www.rfc-editor.org/rfc/rfc9068, names as specification 5.3 has them */

export type AccessClaims = {
  /** The base URL of this server: it issues tokens for itself. */
  readonly iss: string
  readonly aud: string
  /** The user's `subject`; of client_credentials the client's id. */
  readonly sub: string
  /** Seconds since 1970. */
  readonly iat: number
  readonly exp: number
  readonly jti: string
  readonly typ: typeof ACCESS_TYP
  /** The client's id, both. */
  readonly azp: string
  readonly client_id: string
  readonly scope: string
  /** What is revoked together: of a grant and all that was refreshed from it. `session_state` is the same. */
  readonly sid: string
  readonly session_state: string
  readonly acr: '0' | '1'
  /** Of the client and the user, as they were when it was issued: it counts no longer than they do. */
  readonly client_generation?: string
  readonly user_generation?: string
  /** How the client proved who it is. */
  readonly client_auth: ClientAuth
  /** If the client is registered with one: whether its writes wait until searches find them. */
  readonly consistency?: 'eventual' | 'strong'
  /** `Patient/1` without its type, as SMART has it: the patient and the encounter in context. */
  readonly patient?: string
  readonly encounter?: string
  readonly fhirUser?: string
  /** The ids of the patients a RelatedPerson cares for. */
  readonly acts_for?: readonly string[]
  readonly preferred_username?: string
  /** Of client_credentials, as specification 5.3 has them. */
  readonly clientId?: string
  readonly clientHost?: string
  readonly clientAddress?: string
  /** And the tenant, a string or an array, under the name the setting `tenantClaim` gives. */
  readonly [name: string]: unknown
}

/** What claims of ours, of introspection and of JWTs mean something else by: none of them can name a tenant. https://www.iana.org/assignments/jwt */
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
    'clientId',
    'clientHost',
    'clientAddress',
  ],
  ...['patient', 'encounter', 'fhirUser', 'profile', '__proto__'],
]

export type ClientAuth = 'secret' | 'assertion' | 'none'

/** Of an ID token it is another: no token passes for one of another kind. */
export const ACCESS_TYP = 'Bearer'
export const ID_TYP = 'ID'
