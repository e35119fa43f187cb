/** Keys that a client registers, as a JSON Web Key Set. https://www.rfc-editor.org/rfc/rfc7517#section-5 */
import { createPublicKey, type JsonWebKey } from 'node:crypto'
import { type Element, isElement } from '../../fhir/resource.ts'

const MOST = 20
const LEAST_BITS = 2_048
const SECRET = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

/**
 * Returns the keys of a set that can verify an assertion: RSA for RS384 and P-384 for ES384, each with a `kid`. Omits other keys. Throws
 * RangeError if no key is left, if more than 20 are, or if two have one `kid`. Throws RangeError if any key of the set is private. The
 * message never repeats the text.
 */
export function clientKeysOf(text: string): readonly Element[] {
  const { keys } = parsed(text)
  if (!Array.isArray(keys) || !keys.every(isElement)) throw new RangeError('It is no JSON Web Key Set: {"keys": […]}')
  // guard: private-key-is-not-registered
  if (keys.some((key) => SECRET.some((name) => name in key))) throw new RangeError('It holds private keys: give the public ones only')
  const usable = keys.filter((key) => faultOf(key) === undefined)
  if (usable.length === 0)
    throw new RangeError(keys.length === 0 ? 'It holds no keys' : `None of its keys can be used: ${faultOf(keys[0]!)}`)
  if (usable.length > MOST) throw new RangeError(`It holds more than ${MOST} keys`)
  if (new Set(usable.map(({ kid }) => kid)).size < usable.length) throw new RangeError('Two of its keys have one kid')
  return usable
}

function parsed(text: string): Element {
  try {
    const found: unknown = JSON.parse(text)
    return isElement(found) ? found : {}
  } catch {
    throw new RangeError('It is no JSON')
  }
}

function faultOf(key: Element): string | undefined {
  const { kid, kty, crv, alg, use } = key
  if (typeof kid !== 'string' || kid === '' || kid.length > 200) return 'a key has a kid'
  const wanted = kty === 'RSA' ? 'RS384' : kty === 'EC' && crv === 'P-384' ? 'ES384' : undefined
  if (wanted === undefined) return 'a key is RSA, or EC of the curve P-384'
  if (alg !== undefined && alg !== wanted) return `its alg is ${wanted}`
  if (use !== undefined && use !== 'sig') return 'its use is sig'
  const bits = bitsOf(key)
  if (bits === undefined) return 'its numbers are wrong'
  return kty === 'RSA' && bits < LEAST_BITS ? `an RSA key has at least ${LEAST_BITS} bits` : undefined
}

function bitsOf(key: Element): number | undefined {
  try {
    return createPublicKey({ key: key as JsonWebKey, format: 'jwk' }).asymmetricKeyDetails?.modulusLength ?? 0
  } catch {
    return undefined
  }
}
