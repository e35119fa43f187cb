/** Parameters of requests: each at most once, an empty one is as none. https://www.rfc-editor.org/rfc/rfc6749#section-3.2 */
import type { ParameterPairs } from '../search/query/parameter-pairs.ts'
import { OAuthError } from './oauth-error.ts'

export type RequestParameters = ReadonlyMap<string, string>

/** OAuthError where a name stands twice; `scope` too. */
export function parametersOf(pairs: ParameterPairs): RequestParameters {
  const found = new Map<string, string>()
  for (const [name, value] of pairs) {
    if (found.has(name)) throw new OAuthError('invalid_request', `The parameter ${toDescriptionText(name)} stands twice`)
    found.set(name, value)
  }
  for (const [name, value] of found) if (value === '') found.delete(name)
  return found
}

/** OAuthError where it is missing. */
export function requireParameter(parameters: RequestParameters, name: string): string {
  const value = parameters.get(name)
  if (value === undefined) throw new OAuthError('invalid_request', `The parameter ${name} is missing`)
  return value
}

/** Scopes, the first ones of many. */
export const toDescriptionList = (texts: readonly string[]): string =>
  `${texts.slice(0, 5).map(toDescriptionText).join(' ')}${texts.length > 5 ? ' and more' : ''}`

/** Descriptions hold few characters: https://www.rfc-editor.org/rfc/rfc6749#section-5.2 */
export const toDescriptionText = (text: string): string => text.slice(0, 64).replace(/[^\w:/.*?=&-]/g, '_')
