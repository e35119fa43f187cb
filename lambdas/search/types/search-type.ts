/** What a parameter type is: how its values get into the index, and what a value of a query means. Both halves stand in one file per type. */
import type { FhirError } from '../../fhir/outcome.ts'
import { fhirError } from '../../fhir/outcome.ts'
import type { Element } from '../../fhir/resource.ts'
import type { Predicate } from '../../ports/search/plan.ts'
import type { DocumentFields } from '../fields.ts'
import type { OnFailure, SearchParameter, TypedValue } from '../parameters.ts'
import type { SearchContext } from '../search-context.ts'

/** `now`: milliseconds since 1970. */
export type QueryContext = SearchContext & { readonly now?: number }

/** Puts values a parameter has in a resource into the fields: one at least, of many a part at a time. */
export type ValueExtractor = (fields: DocumentFields, values: readonly TypedValue[], resource: Element, onFailure?: OnFailure) => void

export type SearchType = {
  readonly modifiers: readonly string[]
  /** What depends on the parameter alone is made here, once. */
  readonly extractor: (parameter: Pick<SearchParameter, 'field' | 'components'>) => ValueExtractor
  /** What is done when all values are in the fields. */
  readonly afterwards?: (parameter: Pick<SearchParameter, 'field'>) => (fields: DocumentFields) => void
  /** One value of the query, unescaped parts still escaped. FhirError 400 when it is malformed. */
  readonly lower: (parameter: SearchParameter, value: string, modifier: string | undefined, context: QueryContext) => Predicate
}

export const malformedValueError = (parameter: SearchParameter, expected: string): FhirError =>
  fhirError(400, 'value', `The value of the parameter ${parameter.code} is not ${expected}`)

/** `\,` `\|` `\$` `\\` stand for the character. https://hl7.org/fhir/R4/search.html#escaping */
export const unescapeValue = (text: string): string => (text.includes('\\') ? text.replace(/\\([,|$\\])/g, '$1') : text)

/** As a value of a query, whatever the text holds. */
export const escapeValue = (text: string): string => text.replace(/[\\,|$]/g, '\\$&')

/** Parts between unescaped separators, still escaped. */
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

/** Keys that begin with the text. */
export const keyPrefixPredicate = (field: string, text: string): Predicate => ({
  kind: 'keyRange',
  field,
  from: text,
  to: `${text}\u{10ffff}`,
})
