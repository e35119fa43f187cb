/** Token parameters. https://hl7.org/fhir/R4/search.html#token */
import { type Element, isElement } from '../../fhir/resource.ts'
import type { Fields } from '../fields.ts'
import { fold } from '../fold.ts'
import type { Predicate } from '../plan.ts'
import { malformed, prefixed, type SearchType, splitValue, unescapeValue } from './search-type.ts'

/** Before values that are compared without case, so that they never equal a value that is compared with it. */
const FOLDED = '\u0001'
const SPECIAL = 'http://terminology.hl7.org/CodeSystem/special-values'

export const token: SearchType = {
  modifiers: ['not', 'text', 'of-type'],
  extract(fields, name, { type, value, system }) {
    if (isElement(value)) extractElement(fields, name, type, value)
    else if (type === 'id') addId(fields, name, value)
    else if (typeof value === 'boolean') addPrimitive(fields, name, SPECIAL, String(value), false)
    else if (typeof value === 'string') addPrimitive(fields, name, system ?? '', value, type === 'code', system !== undefined)
  },
  group(fields, name) {
    const { [`${name}:code`]: codes, [name]: both } = fields.keys
    const own = fields.groups[`${name}:code`]
    if (own === undefined && both?.every(isWhole)) return fields.groupsAre(name, codes, both)
    // Beside values that are compared without case, or a system alone.
    for (const key of both ?? []) {
      const code = key.slice(key.indexOf('|') + 1)
      if (isWhole(key) && !key.includes(FOLDED) && !own?.includes(code)) fields.group(name, code, key)
    }
  },
  lower(parameter, value, modifier) {
    const { field: code } = parameter
    if (modifier === 'text') return prefixed(`${code}:text`, fold(unescapeValue(value)))
    // What :not excludes is said by the criterion, for all its values at once.
    if (modifier !== 'of-type') return lowerToken(code, value)
    const parts = splitValue(value, '|').map(unescapeValue)
    if (parts.length !== 3 || parts.some((part) => part === '')) throw malformed(parameter, 'of the form system|code|value')
    return { kind: 'key', field: `${code}:of-type`, oneOf: [ofType(parts[0]!, parts[1]!, parts[2]!)] }
  },
}

/** Not a system alone. */
const isWhole = (key: string): boolean => !key.endsWith('|')

function extractElement(fields: Fields, name: string, type: string, value: Element): void {
  switch (type) {
    case 'CodeableConcept':
      for (const coding of listOf(value.coding)) extractCoding(fields, name, coding)
      return addText(fields, name, value.text)
    case 'Coding':
      return extractCoding(fields, name, value)
    case 'Identifier':
      return extractIdentifier(fields, name, value)
    case 'ContactPoint':
      return typeof value.value === 'string' ? addFolded(fields, name, textOf(value.system), value.value) : undefined
    default:
      return undefined
  }
}

function extractCoding(fields: Fields, name: string, coding: Element): void {
  addText(fields, name, coding.display)
  if (typeof coding.code === 'string') add(fields, name, textOf(coding.system), coding.code, false)
  else if (typeof coding.system === 'string') fields.key(name, `${coding.system}|`)
}

function extractIdentifier(fields: Fields, name: string, identifier: Element): void {
  const { value, type } = identifier
  if (typeof value !== 'string') return
  addFolded(fields, name, textOf(identifier.system), value)
  if (!isElement(type)) return
  addText(fields, name, type.text)
  for (const { system, code } of listOf(type.coding))
    if (typeof code === 'string') fields.key(`${name}:of-type`, ofType(textOf(system), code, value))
}

function addFolded(fields: Fields, name: string, system: string, code: string): void {
  add(fields, name, system, code, true)
  fields.group(name, code, `${system}|${code}`)
}

/** It is grouped by its text: its system is not in the resource. */
function addPrimitive(fields: Fields, name: string, system: string, code: string, folded: boolean, implied = false): void {
  add(fields, name, system, code, folded, implied)
  fields.group(name, code)
}

/** `implied`: the system is that of the binding, and the value is also found as one without a system. */
function add(fields: Fields, name: string, system: string, code: string, folded: boolean, implied = false): void {
  const text = folded ? FOLDED + code.toLowerCase() : code
  fields.key(name, `${system}|${text}`)
  if (implied) fields.key(name, `|${text}`)
  fields.key(`${name}:code`, text)
  if (system.length + code.length <= 1000) fields.sort(name, `${system}\u0000${code}`)
}

/** An id has no system: one key does for it. */
function addId(fields: Fields, name: string, id: unknown): void {
  if (typeof id !== 'string') return
  fields.key(`${name}:code`, id)
  fields.group(name, id)
  fields.sort(name, `\u0000${id}`)
}

const ofType = (system: string, code: string, value: string): string => `${system}|${code}|${value.toLowerCase()}`

const addText = (fields: Fields, name: string, text: unknown): void => {
  if (typeof text === 'string') fields.key(`${name}:text`, fold(text))
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
const listOf = (value: unknown): readonly Element[] => (Array.isArray(value) ? value.filter(isElement) : [])

function lowerToken(name: string, value: string): Predicate {
  const parts = splitValue(value, '|')
  const isBare = parts.length === 1 || (name === '_id' && parts.length === 2 && parts[0] === '')
  if (isBare) return { kind: 'key', field: `${name}:code`, oneOf: bothForms('', unescapeValue(parts.at(-1)!)) }
  const system = unescapeValue(parts[0]!)
  const code = parts.slice(1).map(unescapeValue).join('|')
  if (code === '') return prefixed(name, `${system}|`)
  return { kind: 'key', field: name, oneOf: bothForms(`${system}|`, code) }
}

const bothForms = (system: string, code: string): readonly string[] => [system + code, system + FOLDED + code.toLowerCase()]
