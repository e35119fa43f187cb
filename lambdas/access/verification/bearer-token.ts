/** The token in the header Authorization, and what it says of itself before anything is proved. https://www.rfc-editor.org/rfc/rfc7515 */
import { parseJsonBytes } from '../../fhir/json.ts'
import type { FhirError } from '../../fhir/outcome.ts'
import type { Element } from '../../fhir/resource.ts'
import { invalidTokenError } from './token-errors.ts'

/** Characters: what gateways let through. */
const LONGEST = 8_192
const SCHEME = 'bearer '

/** FhirError 401 for another scheme, and for what is too long to be looked at. */
export function bearerTokenOf(authorization: string): string {
  if (authorization.length > LONGEST) throw invalidTokenError(`The header Authorization is longer than ${LONGEST} characters`)
  if (authorization.slice(0, SCHEME.length).toLowerCase() !== SCHEME)
    throw invalidTokenError('The header Authorization is not Bearer and a token')
  return authorization.slice(SCHEME.length).trim()
}

/** Nothing of it is proved: it tells which key and which rules to prove it with. */
export type UnverifiedToken = { readonly algorithm: string; readonly kid: string; readonly issuer: string; readonly typ: unknown }

/** FhirError 401 where it is no JSON Web Token in its one form: three parts in base64url, no member twice, nothing that must be understood. */
export function decodeUnverifiedToken(text: string): UnverifiedToken {
  const parts = text.split('.', 4)
  if (parts.length !== 3 || !parts.every(isBase64Url)) throw malformed()
  const [{ alg, kid, typ, crit }, { iss }] = parts.slice(0, 2).map(objectOf) as [Element, Element]
  // guard: token-critical-header-is-rejected
  if (typeof alg !== 'string' || typeof kid !== 'string' || typeof iss !== 'string' || crit !== undefined) throw malformed()
  return { algorithm: alg, kid, issuer: iss, typ }
}

/** Whether it is base64url in its canonical form, which is one text for the same bytes. */
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
