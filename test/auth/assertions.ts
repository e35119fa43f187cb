/** Keys of clients, and assertions signed with them, right or wrong in any way a test likes. */
import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { exportJWK } from 'jose'
import { ASSERTION_TYPE } from '../../lambdas/auth/clients/client-authentication.ts'
import type { Element } from '../../lambdas/fhir/resource.ts'
import { BASE_URL } from './authorization.ts'

export type KeyPair = { readonly alg: 'RS384' | 'ES384'; readonly kid: string; readonly secret: KeyObject; readonly jwk: Element }

export async function createKeyPair(alg: 'RS384' | 'ES384', kid: string): Promise<KeyPair> {
  const { privateKey, publicKey } =
    alg === 'RS384' ? generateKeyPairSync('rsa', { modulusLength: 2_048 }) : generateKeyPairSync('ec', { namedCurve: 'P-384' })
  return { alg, kid, secret: privateKey, jwk: { ...(await exportJWK(publicKey)), alg, kid, use: 'sig' } }
}

export const encodePart = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

/** `header` and `claims`: what is other than it should be; undefined: left out. A text stands as it is. */
export type AssertionChanges = { readonly header?: Element | string; readonly claims?: Element | string }

let jti = 0

export function signAssertion({ alg, kid, secret }: KeyPair, id: string, now: number, { header, claims }: AssertionChanges = {}): string {
  const right = { iss: id, sub: id, aud: `${BASE_URL}/auth/token`, exp: Math.floor(now / 1000) + 60, jti: `jti-${++jti}` }
  const of = (own: object, changed: Element | string | undefined) =>
    encodePart(typeof changed === 'string' ? changed : { ...own, ...changed })
  const text = `${of({ alg, kid, typ: 'JWT' }, header)}.${of(right, claims)}`
  return `${text}.${sign('sha384', Buffer.from(text), { key: secret, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
}

/** What an attacker makes of a public key: https://www.rfc-editor.org/rfc/rfc8725#section-2.1 */
export function signHmacAssertion(key: string, header: Element, claims: Element): string {
  const text = `${encodePart(header)}.${encodePart(claims)}`
  return `${text}.${createHmac('sha384', key).update(text).digest('base64url')}`
}

export const assertionFormOf = (client_assertion: string): Record<string, string> => ({
  grant_type: 'client_credentials',
  client_assertion_type: ASSERTION_TYPE,
  client_assertion,
})
