/** Token parameters. https://hl7.org/fhir/R4/search.html#token */
import { type Element, isElement } from '../../fhir/resource.ts'
import type { Predicate } from '../../ports/search/plan.ts'
import { type DocumentFields, type FieldNames, includesKey, namesOf } from '../fields.ts'
import { cacheByText } from '../interned-texts.ts'
import { foldText } from '../text-folding.ts'
import { keyPrefixPredicate, malformedValueError, type SearchType, splitValue, unescapeValue } from './search-type.ts'
import { codingsOf, FOLDED_KEY_PREFIX, type Token, textOf, tokensOf } from './tokens.ts'

export const token: SearchType = {
  modifiers: ['not', 'text', 'of-type'],
  maxFields: 8,
  extractor({ field }) {
    const names = namesOf(field)
    return (fields, values) => {
      for (const value of values) {
        for (const token of tokensOf(value)) addToken(fields, names, token)
        if (isElement(value.value)) addTexts(fields, names, value.type, value.value)
      }
    }
  },
  afterwards({ field }) {
    const names = namesOf(field)
    return (fields) => group(fields, names)
  },
  lower(parameter, value, modifier) {
    const { field } = parameter
    if (modifier === 'text') return keyPrefixPredicate(`${field}:text`, foldText(unescapeValue(value)))
    // The criterion negates `:not`, once for all its values. So it is lowered here like no modifier.
    if (modifier !== 'of-type') return lowerToken(field, value)
    const parts = splitValue(value, '|').map(unescapeValue)
    if (parts.length !== 3 || parts.some((part) => part === '')) throw malformedValueError(parameter, 'of the form system|code|value')
    return { kind: 'key', field: `${field}:of-type`, oneOf: [typedIdentifier(parts[0]!, parts[1]!, parts[2]!)] }
  },
}

function addToken(fields: DocumentFields, names: FieldNames, { keys, code, sort, group }: Token): void {
  // If the code is new in this resource, so are all keys and groups that contain it.
  const isNew = code !== undefined && fields.key(names.code, code)
  for (const key of keys) fields.key(names.field, key, isNew)
  if (sort !== undefined) fields.sort(names.field, sort)
  if (group !== undefined) fields.group(names, group.code, group.both, isNew)
}

/** Adds the keys of display texts for `:text`, and of the types of identifiers for `:of-type`. */
function addTexts(fields: DocumentFields, names: FieldNames, type: string, value: Element): void {
  switch (type) {
    case 'CodeableConcept':
      for (const { display } of codingsOf(value)) addText(fields, names, display)
      return addText(fields, names, value.text)
    case 'Coding':
      return addText(fields, names, value.display)
    case 'Identifier':
      return typeof value.value === 'string' && isElement(value.type) ? addType(fields, names, value.value, value.type) : undefined
  }
}

function addType(fields: DocumentFields, names: FieldNames, value: string, type: Element): void {
  addText(fields, names, type.text)
  for (const { system, code } of codingsOf(type))
    if (typeof code === 'string') fields.key(names.ofType, typedIdentifier(textOf(system), code, value))
}

const addText = (fields: DocumentFields, { text: field }: FieldNames, text: unknown): void => {
  if (typeof text === 'string') fields.key(field, cachedFold(text))
}

const cachedFold = cacheByText(5_000, foldText)

const typedIdentifier = (system: string, code: string, value: string): string => `${system}|${code}|${value.toLowerCase()}`

/** Adds the groups of tokens that have no `group`: their keys are their groups. */
function group(fields: DocumentFields, names: FieldNames): void {
  const { [names.code]: codes, [names.field]: both } = fields.keys
  const own = fields.groups[names.code]
  if (own === undefined && both?.every(isWhole)) return fields.groupsAre(names, codes, both)
  // Some keys are folded, or a system alone. Add only the other keys as groups.
  for (const key of both ?? []) {
    const code = key.slice(key.indexOf('|') + 1)
    if (isWhole(key) && !key.includes(FOLDED_KEY_PREFIX) && !(own !== undefined && includesKey(own, code))) fields.group(names, code, key)
  }
}

/** Whether the key contains a code, and not only a system. */
const isWhole = (key: string): boolean => !key.endsWith('|')

function lowerToken(name: string, value: string): Predicate {
  const parts = splitValue(value, '|')
  const isBare = parts.length === 1 || (name === '_id' && parts.length === 2 && parts[0] === '')
  if (isBare) return { kind: 'key', field: `${name}:code`, oneOf: bothForms('', unescapeValue(parts.at(-1)!)) }
  const system = unescapeValue(parts[0]!)
  const code = parts.slice(1).map(unescapeValue).join('|')
  if (code === '') return keyPrefixPredicate(name, `${system}|`)
  return { kind: 'key', field: name, oneOf: bothForms(`${system}|`, code) }
}

const bothForms = (system: string, code: string): readonly string[] => [system + code, system + FOLDED_KEY_PREFIX + code.toLowerCase()]
