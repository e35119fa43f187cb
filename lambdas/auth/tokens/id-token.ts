/** ID tokens, which identify the logged-in user to the client. https://openid.net/specs/openid-connect-core-1_0.html#IDToken */
import { createHash } from 'node:crypto'
import { ID_TYP } from '../../access/claims.ts'
import type { User } from '../../ports/rows/users.ts'
import type { AuthPorts } from '../endpoint.ts'
import type { IssuedToken, TokenGrant } from './access-token.ts'
import { signToken } from './signed-token.ts'

export type IdTokenParts = {
  readonly access: TokenGrant
  /** Login time, in seconds since 1970. */
  readonly authTime: number
  readonly user: User
  readonly made: IssuedToken
  readonly nonce: string | undefined
}

/** Returns a signed ID token. If granted, the scope `profile` adds the login name, and `fhirUser` the URL of the user's resource. */
export function createIdToken(
  ports: Pick<AuthPorts, 'keys' | 'clock'>,
  { access, authTime, user, made, nonce }: IdTokenParts,
): Promise<string> {
  const { baseUrl, client, subject, sid, scopes, acr } = access
  const iat = Math.floor(ports.clock.now() / 1000)
  return signToken(ports, {
    iss: baseUrl,
    aud: client.id,
    sub: subject,
    iat,
    exp: iat + made.life,
    typ: ID_TYP,
    azp: client.id,
    sid,
    acr,
    auth_time: authTime,
    at_hash: halfOf(made.token),
    ...(nonce === undefined ? {} : { nonce }),
    ...(scopes.includes('profile') ? { preferred_username: user.name } : {}),
    ...(scopes.includes('fhirUser') && user.fhirUser !== undefined ? { fhirUser: `${baseUrl}/${user.fhirUser}` } : {}),
  })
}

/**
 * Returns the left half of the SHA-256 of a token, as `at_hash` requires. https://openid.net/specs/openid-connect-core-1_0.html#CodeIDToken
 */
const halfOf = (token: string): string => createHash('sha256').update(token).digest().subarray(0, 16).toString('base64url')
