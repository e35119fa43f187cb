/**
 * Requests an access token for a client that authenticates with a signed assertion (`private_key_jwt`).
 * https://hl7.org/fhir/smart-app-launch/client-confidential-asymmetric.html; https://hl7.org/fhir/smart-app-launch/backend-services.html
 */
import { createPrivateKey, type JsonWebKey, type KeyObject, randomUUID, sign } from 'node:crypto'
import { requestToken, tokenEndpointOf } from './token-endpoint.ts'

/** Private key of a client. `kid`: key id under which the public key is registered. */
export type SigningKey = { readonly kid: string; readonly alg: 'RS384' | 'ES384'; readonly key: KeyObject }

/** Lifetime of an assertion in seconds. The specification allows at most five minutes. */
const LIFE = 240

/** Parses a private key from a JSON Web Key or a key set. Throws if it holds no usable key. The message contains nothing of the text. */
export function parseSigningKey(text: string): SigningKey {
  const jwk = privateKeyIn(text)
  if (jwk === undefined) throw new Error('It holds no private JSON Web Key')
  const { kid, kty, crv } = jwk
  const alg = kty === 'RSA' ? 'RS384' : kty === 'EC' && crv === 'P-384' ? 'ES384' : undefined
  if (alg === undefined) throw new Error('Its key is neither RSA nor EC of the curve P-384')
  if (typeof kid !== 'string') throw new Error('Its key has no kid')
  try {
    return { kid, alg, key: createPrivateKey({ key: jwk, format: 'jwk' }) }
  } catch {
    throw new Error('The numbers of its key are wrong')
  }
}

function privateKeyIn(text: string): JsonWebKey | undefined {
  try {
    const found = JSON.parse(text) as JsonWebKey & { readonly keys?: readonly JsonWebKey[] }
    return [...(found.keys ?? []), found].find(({ d }) => d !== undefined)
  } catch {
    return undefined
  }
}

/** `patient`: member that a partner names, as an id, `Patient/1` or `system|value`. */
export type AssertionTokenRequest = {
  readonly base: string
  readonly client: string
  readonly key: SigningKey
  readonly scope: string
  readonly patient?: string
}

/** Requests an access token. `base`: FHIR base URL without a trailing slash. Throws with the server's reason if the server refuses. */
export async function requestAssertionToken({ base, client, key, scope, patient }: AssertionTokenRequest): Promise<string> {
  const endpoint = await tokenEndpointOf(base)
  return requestToken(endpoint, {
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: signed(client, endpoint, key),
    scope,
    ...(patient === undefined ? {} : { patient }),
  })
}

/** Returns the assertion, a signed JWT. https://www.rfc-editor.org/rfc/rfc7523#section-3 */
function signed(client: string, audience: string, { kid, alg, key }: SigningKey): string {
  const exp = Math.floor(Date.now() / 1000) + LIFE
  const claims = { iss: client, sub: client, aud: audience, exp, jti: randomUUID() }
  const content = [{ alg, kid, typ: 'JWT' }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  return `${content}.${sign('sha384', Buffer.from(content), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
}
