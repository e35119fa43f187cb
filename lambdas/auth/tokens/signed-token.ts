/** Signs and verifies this server's own tokens. https://www.rfc-editor.org/rfc/rfc7515#section-3.1 */
import { createLocalJWKSet, jwtVerify } from 'jose'
import type { AccessClaims } from '../../access/claims.ts'
import { ACCESS_TYP } from '../../access/claims.ts'
import type { AuthPorts, VerifyingPorts } from '../endpoint.ts'
import { publishedKeysAt, signingKeyAt } from './key-rotation.ts'

const encoded = (part: unknown): string => Buffer.from(JSON.stringify(part)).toString('base64url')

/** Returns the claims as a JWT, signed with the current key. Throws Error if there is no key. */
export async function signToken({ keys, clock }: Pick<AuthPorts, 'keys' | 'clock'>, claims: object): Promise<string> {
  const used = signingKeyAt(await keys.list(), clock.now())
  if (used === undefined) throw new Error('There is no key to sign tokens with')
  const { kid, alg } = used.key
  const text = `${encoded({ alg, kid, typ: 'JWT' })}.${encoded(claims)}`
  return `${text}.${Buffer.from(await keys.sign(kid, Buffer.from(text))).toString('base64url')}`
}

/** Returns the claims of an access token of this server, or undefined if it is invalid or expired. Does not check revocation. */
export async function readToken({ keys, clock }: VerifyingPorts, token: string, baseUrl: string): Promise<AccessClaims | undefined> {
  const now = clock.now()
  const published = publishedKeysAt(await keys.list(), now).map(({ key }) => key)
  try {
    const { payload } = await jwtVerify(token, createLocalJWKSet({ keys: published }), {
      algorithms: ['RS256'],
      issuer: baseUrl,
      audience: baseUrl,
      currentDate: new Date(now),
      requiredClaims: ['exp', 'iat', 'jti', 'sid'],
    })
    return payload.typ === ACCESS_TYP ? (payload as unknown as AccessClaims) : undefined
  } catch {
    return undefined
  }
}
