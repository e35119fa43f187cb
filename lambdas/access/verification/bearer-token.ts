/** Bearer token of the Authorization header, and its content before verification. https://www.rfc-editor.org/rfc/rfc7515 */
import { parseJsonBytes } from '../../fhir/json.ts'
import type { FhirError } from '../../fhir/outcome.ts'
import type { Element } from '../../fhir/resource.ts'
import { invalidTokenError } from './token-errors.ts'

/** Maximum characters of the Authorization header. Gateways limit all headers together to 10,240 bytes. A longer one is answered 401. */
const LONGEST = 8_192
const SCHEME = 'bearer '

/** Returns the token of the Authorization header. Throws FhirError 401 if the scheme is not Bearer, or if the header is too long. */
export function bearerTokenOf(authorization: string): string {
  if (authorization.length > LONGEST) throw invalidTokenError(`The header Authorization is longer than ${LONGEST} characters`)
  if (authorization.slice(0, SCHEME.length).toLowerCase() !== SCHEME)
    throw invalidTokenError('The header Authorization is not Bearer and a token')
  return authorization.slice(SCHEME.length).trim()
}

/**
 * Unverified header fields and issuer of a token. `algorithm`, `kid` and `issuer` only select the key and the rules for verification. `typ`
 * is checked after verification, for external issuers only.
 */
export type UnverifiedToken = { readonly algorithm: string; readonly kid: string; readonly issuer: string; readonly typ: unknown }

/**
 * Decodes a token without verification. Throws FhirError 401 unless it has three parts of canonical base64url, the strings `alg`, `kid` and
 * `iss`, no duplicate JSON members, and no header `crit`.
 */
export function decodeUnverifiedToken(text: string): UnverifiedToken {
  const parts = text.split('.', 4)
  if (parts.length !== 3 || !parts.every(isBase64Url)) throw malformed()
  const [{ alg, kid, typ, crit }, { iss }] = parts.slice(0, 2).map(objectOf) as [Element, Element]
  // guard: token-critical-header-is-rejected
  if (typeof alg !== 'string' || typeof kid !== 'string' || typeof iss !== 'string' || crit !== undefined) throw malformed()
  return { algorithm: alg, kid, issuer: iss, typ }
}

/** Whether the text is base64url in canonical form: the same bytes have only one such text. */
// guard: token-part-is-canonical-base64
export const isBase64Url = (part: string): boolean => part !== '' && Buffer.from(part, 'base64url').toString('base64url') === part

function objectOf(part: string): Element {
  let tree: unknown
  try {
    tree = parseJsonBytes(Buffer.from(part, 'base64url'))
  } catch {
    throw malformed()
  }
  if (typeof tree !== 'object' || tree === null || Array.isArray(tree)) throw malformed()
  return tree as Element
}

const malformed = (): FhirError => invalidTokenError('The token is malformed')
