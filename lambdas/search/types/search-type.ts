/**
 * Search type: how values of a parameter type are indexed, and what a query value of it means. One file per type holds both, so that they
 * agree.
 */
import type { FhirError } from '../../fhir/outcome.ts'
import { fhirError } from '../../fhir/outcome.ts'
import type { Element } from '../../fhir/resource.ts'
import type { Predicate } from '../../ports/search/plan.ts'
import type { DocumentFields } from '../fields.ts'
import type { OnFailure, SearchParameter, TypedValue } from '../parameters.ts'
import type { SearchContext } from '../search-context.ts'

/** Search context of a query. `now`: milliseconds since 1970. Absent: the prefix `ap` of dates is answered 400. */
export type QueryContext = SearchContext & { readonly now?: number }

/**
 * Adds the values of a parameter in a resource to the index fields. Called with at least one value, and several times if there are many.
 */
export type ValueExtractor = (fields: DocumentFields, values: readonly TypedValue[], resource: Element, onFailure?: OnFailure) => void

export type SearchType = {
  readonly modifiers: readonly string[]
  /** Maximum fields of an index that a parameter of this type uses. Sort values use two. */
  readonly maxFields: number
  /**
   * Creates the extractor of a parameter. Prepares here what depends on the parameter alone, so that it runs once and not for each
   * resource.
   */
  readonly extractor: (parameter: Pick<SearchParameter, 'field' | 'components'>) => ValueExtractor
  /** Creates a step that runs after the extractor has added all values of the parameter in a resource. */
  readonly afterwards?: (parameter: Pick<SearchParameter, 'field'>) => (fields: DocumentFields) => void
  /** Returns the predicate of one query value. `value` still contains its escape characters. Throws FhirError 400 if it is malformed. */
  readonly lower: (parameter: SearchParameter, value: string, modifier: string | undefined, context: QueryContext) => Predicate
}

export const malformedValueError = (parameter: SearchParameter, expected: string): FhirError =>
  fhirError(400, 'value', `The value of the parameter ${parameter.code} is not ${expected}`)

/** Replaces `\,` `\|` `\$` `\\` by the character. https://hl7.org/fhir/R4/search.html#escaping */
export const unescapeValue = (text: string): string => (text.includes('\\') ? text.replace(/\\([,|$\\])/g, '$1') : text)

/** Escapes `\`, `,`, `|` and `$`, so that the text is one query value. */
export const escapeValue = (text: string): string => text.replace(/[\\,|$]/g, '\\$&')

/** Splits a query value at unescaped separators. The parts still contain their escape characters. */
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

/** Returns the predicate for keys that start with the text. */
export const keyPrefixPredicate = (field: string, text: string): Predicate => ({
  kind: 'keyRange',
  field,
  from: text,
  to: `${text}\u{10ffff}`,
})
