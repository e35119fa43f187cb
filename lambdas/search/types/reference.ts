/** Reference parameters. https://hl7.org/fhir/R4/search.html#reference */
import { RELATIVE_REFERENCE, toRelative } from '../../fhir/references.ts'
import { type Element, isElement, isId } from '../../fhir/resource.ts'
import { isResourceType } from '../../fhir/resource-types.ts'
import type { Predicate } from '../../ports/search/plan.ts'
import { canonicalSortKeyOf, withoutFragment } from '../canonical.ts'
import { type DocumentFields, type FieldNames, namesOf } from '../fields.ts'
import { cacheByText } from '../interned-texts.ts'
import type { SearchParameter } from '../parameters.ts'
import { malformedValueError, type SearchType, splitValue, unescapeValue } from './search-type.ts'
import { textOf } from './tokens.ts'

export const reference: SearchType = {
  modifiers: ['identifier'],
  maxFields: 7,
  extractor({ field }) {
    const names = namesOf(field)
    return (fields, values) => {
      for (const { value } of values)
        if (typeof value === 'string') addCanonical(fields, names, value)
        else if (isElement(value)) {
          if (typeof value.reference === 'string') addReference(fields, field, value.reference)
          if (isElement(value.identifier)) addIdentifier(fields, names, value.identifier)
        }
      fields.groupsAre(names, fields.keys[field], fields.keys[field])
    }
  },
  lower(parameter, value, modifier, reading) {
    const text = toRelative(unescapeValue(value), reading)
    const { field } = parameter
    if (modifier === 'identifier') return { kind: 'key', field: `${field}:identifier`, oneOf: [identifierKey(value)] }
    if (modifier === undefined) return lowerReference(parameter, text)
    if (isId(text)) return { kind: 'key', field, oneOf: [`${modifier}/${text}`] }
    return text.startsWith(`${modifier}/`) ? lowerReference(parameter, text) : { kind: 'some', of: [] }
  },
}

function addCanonical(fields: DocumentFields, { field, canonical }: FieldNames, text: string): void {
  // Skip a reference to a contained resource, because no search names it.
  if (text.startsWith('#')) return
  const whole = withoutFragment(text)
  if (whole !== text) addReference(fields, field, text)
  addReference(fields, field, whole)
  fields.key(canonical, whole)
}

function addReference(fields: DocumentFields, field: string, reference: string): void {
  const { keys, sort } = targetOf(toRelative(reference, fields.reading))
  for (const key of keys) fields.key(field, key)
  if (sort !== undefined) fields.sort(field, sort)
}

type Target = { readonly keys: readonly string[]; readonly sort?: string }

/**
 * Returns the index keys and the sort value of a reference. Cached, because successive resources and several parameters often have the same
 * references.
 */
const targetOf = cacheByText(2_000, (text): Target => {
  const [, type, id] = RELATIVE_REFERENCE.exec(text) ?? []
  if (type !== undefined) return { keys: [`${type}/${id}`], sort: `${type}\u0000${id}` }
  // No keys for a reference to a contained resource, because no search names it.
  if (text.startsWith('#')) return { keys: [] }
  const [url = '', version] = text.split('|', 2)
  const isCanonical = version !== undefined && !RELATIVE_REFERENCE.test(url)
  return { keys: isCanonical ? [text, url] : [text], sort: `\u0000\u0000${canonicalSortKeyOf(url, version)}` }
})

function addIdentifier(fields: DocumentFields, { field, identifier }: FieldNames, { system, value }: Element): void {
  if (typeof value !== 'string') return
  const systemText = textOf(system)
  fields.key(identifier, `${systemText}|${value.toLowerCase()}`)
  fields.key(identifier, value.toLowerCase())
  fields.sort(field, `\u0000\u0000\u0000${systemText}\u0000${value}`.slice(0, 1000))
}

function identifierKey(value: string): string {
  const [first = '', second] = splitValue(value, '|').map(unescapeValue)
  return second === undefined ? first.toLowerCase() : `${first}|${second.toLowerCase()}`
}

/** Returns the predicate of a reference. A bare id stands for a resource of each target type of the parameter. */
function lowerReference(parameter: SearchParameter, text: string): Predicate {
  const { field, targets } = parameter
  if (isId(text) && targets.length > 0) return { kind: 'key', field, oneOf: targets.map((type) => `${type}/${text}`) }
  const [, type, id] = RELATIVE_REFERENCE.exec(text) ?? []
  if (type !== undefined && isResourceType(type)) return { kind: 'key', field, oneOf: [`${type}/${id}`] }
  if (text === '') throw malformedValueError(parameter, 'an id, Type/id or a URL')
  return { kind: 'key', field, oneOf: [text] }
}
