/** Public read in the CapabilityStatement: types that a request without a token may read and search. */
import { parsePublicScopes } from '../../access/public-access.ts'
import type { Letter } from '../../access/scopes.ts'
import type { Element } from '../../fhir/resource.ts'
import type { Choices } from '../interaction.ts'

/** Returns the description of the security, or an empty object without public read. */
export const publicSecurityOf = ({ publicRead }: Choices): Element =>
  publicRead === ''
    ? {}
    : { description: 'Requests require an access token, except those that the documentation of a type allows without a token.' }

const VERBS: readonly (readonly [Letter, string])[] = [
  ['r', 'read'],
  ['s', 'searched'],
]

/** Returns the documentation of a type, or nothing if the type is not public. */
export function publicDocumentationOf(type: string, { publicRead }: Choices): Element {
  const texts = parsePublicScopes(publicRead).flatMap((scope) => {
    if (scope.type !== type) return []
    const verbs = VERBS.flatMap(([letter, verb]) => (scope.letters.includes(letter) ? [verb] : []))
    const which = scope.query === '' ? 'all resources' : `resources that match ${scope.query}`
    return [`Without a token, ${which} may be ${verbs.join(' and ')}.`]
  })
  return texts.length === 0 ? {} : { documentation: texts.join(' ') }
}
