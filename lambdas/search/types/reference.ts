/** Reference parameters. https://hl7.org/fhir/R4/search.html#reference */
import { RELATIVE, relative } from '../../fhir/references.ts'
import { type Element, isElement, isId } from '../../fhir/resource.ts'
import { isResourceType } from '../../fhir/resource-types.ts'
import type { Fields } from '../fields.ts'
import type { SearchParameter } from '../parameters.ts'
import type { Predicate } from '../plan.ts'
import { malformed, type SearchType, splitValue, unescapeValue } from './search-type.ts'

export const reference: SearchType = {
  modifiers: ['identifier'],
  extract(fields, name, { value }) {
    if (typeof value === 'string') return addReference(fields, name, value)
    if (!isElement(value)) return
    if (typeof value.reference === 'string') addReference(fields, name, value.reference)
    if (isElement(value.identifier)) addIdentifier(fields, name, value.identifier)
  },
  group: (fields, name) => fields.groupsAre(name, fields.keys[name], fields.keys[name]),
  lower(parameter, value, modifier, { baseUrl }) {
    const text = relative(unescapeValue(value), baseUrl)
    const { field: code } = parameter
    if (modifier === 'identifier') return { kind: 'key', field: `${code}:identifier`, oneOf: [identifierKey(value)] }
    if (modifier === undefined) return lowerReference(parameter, text)
    if (isId(text)) return { kind: 'key', field: code, oneOf: [`${modifier}/${text}`] }
    return text.startsWith(`${modifier}/`) ? lowerReference(parameter, text) : { kind: 'some', of: [] }
  },
}

function addReference(fields: Fields, name: string, reference: string): void {
  const text = relative(reference, fields.reading.baseUrl)
  const [, type, id] = RELATIVE.exec(text) ?? []
  if (type !== undefined) {
    fields.key(name, `${type}/${id}`)
    fields.sort(name, `${type}\u0000${id}`)
  } else if (!text.startsWith('#')) {
    const [url = '', version] = text.split('|', 2)
    fields.key(name, text)
    if (version !== undefined) fields.key(name, url)
    fields.sort(name, `\u0000\u0000${text.slice(0, 1000)}`)
  }
}

function addIdentifier(fields: Fields, name: string, { system, value }: Element): void {
  if (typeof value !== 'string') return
  const of = typeof system === 'string' ? system : ''
  fields.key(`${name}:identifier`, `${of}|${value.toLowerCase()}`)
  fields.key(`${name}:identifier`, value.toLowerCase())
  fields.sort(name, `\u0000\u0000\u0000${of}\u0000${value}`.slice(0, 1000))
}

function identifierKey(value: string): string {
  const [first = '', second] = splitValue(value, '|').map(unescapeValue)
  return second === undefined ? first.toLowerCase() : `${first}|${second.toLowerCase()}`
}

/** An id may be that of any type the parameter points to. */
function lowerReference(parameter: SearchParameter, text: string): Predicate {
  const { field: code, targets } = parameter
  if (isId(text) && targets.length > 0) return { kind: 'key', field: code, oneOf: targets.map((type) => `${type}/${text}`) }
  const [, type, id] = RELATIVE.exec(text) ?? []
  if (type !== undefined && isResourceType(type)) return { kind: 'key', field: code, oneOf: [`${type}/${id}`] }
  if (text === '') throw malformed(parameter, 'an id, Type/id or a URL')
  return { kind: 'key', field: code, oneOf: [text] }
}
