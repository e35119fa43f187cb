/**
 * Claims of the access tokens that this server issues: JWTs signed with RS256, with the names of specification 5.3.
 * https://www.rfc-editor.org/rfc/rfc9068
 */

export type AccessClaims = {
  /** Base URL of this server, also in `aud`: the server issues tokens for itself. */
  readonly iss: string
  readonly aud: string
  /** Subject of the user, or the client id with client_credentials. */
  readonly sub: string
  /** Seconds since 1970. */
  readonly iat: number
  readonly exp: number
  readonly jti: string
  readonly typ: typeof ACCESS_TYP
  /** Client id, as in `client_id`. */
  readonly azp: string
  readonly client_id: string
  readonly scope: string
  /** Session id. All tokens of a grant share it, so that one revocation covers them. `session_state` has the same value. */
  readonly sid: string
  readonly session_state: string
  readonly acr: '0' | '1'
  /** Credential generations of client and user at issue time. The token is revoked with either of them. */
  readonly client_generation?: string
  readonly user_generation?: string
  /** Method by which the client authenticated. */
  readonly client_auth: ClientAuth
  /** Consistency of the client, if it is registered with one. `strong`: its writes wait until searches find them. */
  readonly consistency?: 'eventual' | 'strong'
  /** Patient and encounter in context: ids without the type, as SMART defines them. */
  readonly patient?: string
  readonly encounter?: string
  readonly fhirUser?: string
  /** Ids of the patients that a RelatedPerson acts for. */
  readonly acts_for?: readonly string[]
  readonly preferred_username?: string
  /** Present with client_credentials only, as in specification 5.3. */
  readonly clientId?: string
  readonly clientHost?: string
  readonly clientAddress?: string
  /** The tenant, a string or an array. The setting `tenantClaim` is the name of the claim. */
  readonly [name: string]: unknown
}

/**
 * Claims with another meaning in tokens or introspection. The setting `tenantClaim` must not name them.
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
    'clientId',
    'clientHost',
    'clientAddress',
  ],
  ...['patient', 'encounter', 'fhirUser', 'profile', '__proto__'],
]

export type ClientAuth = 'secret' | 'assertion' | 'none'

/** Values of the claim `typ`. They differ, so that an ID token is never accepted as an access token, or the other way round. */
export const ACCESS_TYP = 'Bearer'
export const ID_TYP = 'ID'
