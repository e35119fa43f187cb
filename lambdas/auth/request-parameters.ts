/**
 * Parameters of OAuth requests: each occurs at most once, and an empty one counts as absent.
 * https://www.rfc-editor.org/rfc/rfc6749#section-3.2
 */
import type { ParameterPairs } from '../search/query/parameter-pairs.ts'
import { OAuthError } from './oauth-error.ts'

export type RequestParameters = ReadonlyMap<string, string>

/** Returns the parameters without the empty ones. Throws OAuthError `invalid_request` if a parameter occurs twice. */
export function parametersOf(pairs: ParameterPairs): RequestParameters {
  const found = new Map<string, string>()
  for (const [name, value] of pairs) {
    if (found.has(name)) throw new OAuthError('invalid_request', `The parameter ${toDescriptionText(name)} stands twice`)
    found.set(name, value)
  }
  for (const [name, value] of found) if (value === '') found.delete(name)
  return found
}

/** Returns the value of a parameter. Throws OAuthError `invalid_request` if it is missing or empty. */
export function requireParameter(parameters: RequestParameters, name: string): string {
  const value = parameters.get(name)
  if (value === undefined) throw new OAuthError('invalid_request', `The parameter ${name} is missing`)
  return value
}

/** Joins the first five texts, such as scopes, for an error description. */
export const toDescriptionList = (texts: readonly string[]): string =>
  `${texts.slice(0, 5).map(toDescriptionText).join(' ')}${texts.length > 5 ? ' and more' : ''}`

/**
 * Returns the first 64 characters of a text for an error description, with `_` for characters that it must not contain:
 * https://www.rfc-editor.org/rfc/rfc6749#section-5.2
 */
export const toDescriptionText = (text: string): string => text.slice(0, 64).replace(/[^\w:/.*?=&-]/g, '_')
