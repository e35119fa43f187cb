/** String parameters. https://hl7.org/fhir/R4/search.html#string */
import { fhirError } from '../../fhir/outcome.ts'
import { type Element, isElement } from '../../fhir/resource.ts'
import { type DocumentFields, type FieldNames, namesOf } from '../fields.ts'
import type { SearchParameter } from '../parameters.ts'
import { foldText, MAX_SEARCHABLE_CHARACTERS } from '../text-folding.ts'
import { keyPrefixPredicate, type SearchType, unescapeValue } from './search-type.ts'

/** Elements that searches read from a HumanName or an Address. https://hl7.org/fhir/R4/search.html#string */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  HumanName: ['text', 'family', 'given', 'prefix', 'suffix'],
  Address: ['text', 'line', 'city', 'district', 'state', 'country', 'postalCode'],
}

export const string: SearchType = {
  modifiers: ['exact', 'contains'],
  maxFields: 6,
  extractor({ field }) {
    const names = namesOf(field)
    return (fields, values) => {
      for (const { type, value } of values) {
        for (const text of stringsOf(type, value)) extractText(fields, names, text)
        if (typeof value === 'string') fields.group(names, value)
      }
    }
  },
  lower(parameter, value, modifier) {
    const { code, field } = parameter
    const text = unescapeValue(value)
    if (modifier !== undefined && isAddress(parameter))
      throw fhirError(400, 'not-supported', `The parameter ${code} is an address: the modifier :${modifier} is not supported`)
    if (modifier === 'exact') return { kind: 'key', field: `${field}:exact`, oneOf: [text] }
    if (modifier !== 'contains') return keyPrefixPredicate(field, foldText(text))
    if (text.length > MAX_SEARCHABLE_CHARACTERS)
      throw fhirError(400, 'too-long', `:contains takes at most ${MAX_SEARCHABLE_CHARACTERS} characters: longer values are not searchable`)
    return { kind: 'contains', field, text: foldText(text) }
  },
}

/** Returns the searchable strings of a value: the string itself, or the elements of a HumanName or an Address. */
export function stringsOf(type: string, value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  if (!isElement(value)) return []
  return (PARTS[type] ?? []).flatMap((part) => (value as Element)[part]).filter((text): text is string => typeof text === 'string')
}

/** Whether the parameter reads whole addresses. Parameters for a part of an address (address-city …) read plain strings. */
export const isAddress = ({ type, valueTypes }: SearchParameter): boolean => type === 'string' && valueTypes.join() === 'Address'

function extractText(fields: DocumentFields, { field, exact }: FieldNames, text: string): void {
  if (text.length > MAX_SEARCHABLE_CHARACTERS) return
  const folded = foldText(text)
  fields.key(field, folded)
  fields.key(exact, text)
  fields.sort(field, folded.slice(0, 1000))
}
