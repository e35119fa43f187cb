/** Parameters of requests: each occurs at most once, and an empty one is absent. https://www.rfc-editor.org/rfc/rfc6749#section-3.2 */
import type { ParameterPairs } from '../search/query/parameter-pairs.ts'
import { OAuthError } from './oauth-error.ts'

export type RequestParameters = ReadonlyMap<string, string>

/** Throws OAuthError if a parameter occurs twice, `scope` included. */
export function parametersOf(pairs: ParameterPairs): RequestParameters {
  const found = new Map<string, string>()
  for (const [name, value] of pairs) {
    if (found.has(name)) throw new OAuthError('invalid_request', `The parameter ${toDescriptionText(name)} stands twice`)
    found.set(name, value)
  }
  for (const [name, value] of found) if (value === '') found.delete(name)
  return found
}

/** Throws OAuthError if the parameter is missing. */
export function requireParameter(parameters: RequestParameters, name: string): string {
  const value = parameters.get(name)
  if (value === undefined) throw new OAuthError('invalid_request', `The parameter ${name} is missing`)
  return value
}

/** Joins texts, such as scopes, for an error description. Shows the first five. */
export const toDescriptionList = (texts: readonly string[]): string =>
  `${texts.slice(0, 5).map(toDescriptionText).join(' ')}${texts.length > 5 ? ' and more' : ''}`

/** Returns a text that fits an error description, which allows few characters: https://www.rfc-editor.org/rfc/rfc6749#section-5.2 */
export const toDescriptionText = (text: string): string => text.slice(0, 64).replace(/[^\w:/.*?=&-]/g, '_')
