/** Search type: how the index gets the values of a parameter type, and what a query value means. Both halves are in one file per type. */
import type { FhirError } from '../../fhir/outcome.ts'
import { fhirError } from '../../fhir/outcome.ts'
import type { Element } from '../../fhir/resource.ts'
import type { Predicate } from '../../ports/search/plan.ts'
import type { DocumentFields } from '../fields.ts'
import type { OnFailure, SearchParameter, TypedValue } from '../parameters.ts'
import type { SearchContext } from '../search-context.ts'

/** Search context of a query. `now`: milliseconds since 1970. */
export type QueryContext = SearchContext & { readonly now?: number }

/** Adds the values that a parameter has in a resource to the fields. A call gets at least one value. Many values come in several calls. */
export type ValueExtractor = (fields: DocumentFields, values: readonly TypedValue[], resource: Element, onFailure?: OnFailure) => void

export type SearchType = {
  readonly modifiers: readonly string[]
  /** Creates the extractor of a parameter. Everything that depends on the parameter alone is created here, once. */
  readonly extractor: (parameter: Pick<SearchParameter, 'field' | 'components'>) => ValueExtractor
  /** Creates the step that runs when all values are in the fields. */
  readonly afterwards?: (parameter: Pick<SearchParameter, 'field'>) => (fields: DocumentFields) => void
  /** Returns the predicate of one query value, whose parts are still escaped. Throws FhirError 400 if it is malformed. */
  readonly lower: (parameter: SearchParameter, value: string, modifier: string | undefined, context: QueryContext) => Predicate
}

export const malformedValueError = (parameter: SearchParameter, expected: string): FhirError =>
  fhirError(400, 'value', `The value of the parameter ${parameter.code} is not ${expected}`)

/** Replaces `\,` `\|` `\$` `\\` by the character. https://hl7.org/fhir/R4/search.html#escaping */
export const unescapeValue = (text: string): string => (text.includes('\\') ? text.replace(/\\([,|$\\])/g, '$1') : text)

/** Escapes any text for use in a query value. */
export const escapeValue = (text: string): string => text.replace(/[\\,|$]/g, '\\$&')

/** Returns the parts between unescaped separators, still escaped. */
export function splitValue(text: string, separator: ',' | '|' | '$'): readonly string[] {
  if (!text.includes('\\')) return text.split(separator)
  const parts: string[] = []
  let from = 0
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '\\') i++
    else if (text[i] === separator) {
      parts.push(text.slice(from, i))
      from = i + 1
    }
  }
  return [...parts, text.slice(from)]
}

/** Returns the predicate for keys that begin with the text. */
export const keyPrefixPredicate = (field: string, text: string): Predicate => ({
  kind: 'keyRange',
  field,
  from: text,
  to: `${text}\u{10ffff}`,
})
