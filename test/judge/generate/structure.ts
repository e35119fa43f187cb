/** Breaks of structure: unknown properties, types of JSON, what is missing, what is too many, what is empty, two choices. */
import {
  addElement,
  type Breaker,
  type Candidate,
  isFirst,
  type Patch,
  putPatch,
  removalPatch,
  siblingPath,
  unknownInstead,
} from './candidate.ts'
import { isChoice, isList, isRequired, membersAt } from './definitions.ts'
import type { Place } from './places.ts'
import { another, capital, EXTENSION, sampleOf } from './samples.ts'

export const unknownProperty: Breaker = (_, { hosts }) =>
  hosts.filter(isFirst).flatMap((host) => {
    const members = membersAt(host.at)
    const names = [...members.values()]
    const plain = names.find((member) => !isChoice(member) && member.key.length > 4 && !(`${member.key}s` in host.value))
    const choice = names.find(isChoice)
    const row = (kind: string, key: string | undefined, value: unknown): readonly Candidate[] =>
      key === undefined || members.has(key)
        ? []
        : [{ kind, element: `${host.at}.${key}`, break: [putPatch([...host.path, key], value)], neighbour: addElement(host) }]
    const choiceName = choice?.definition.path.replace(/^.*\.|\[x\]$/g, '')
    return [
      ...row('misspelt', plain && `${plain.key}X`, 'some text'),
      ...row('of capitals', plain && capital(plain.key), 'some text'),
      ...row('of another type', host.at === 'Patient' ? 'onsetString' : 'birthDate', '2024'),
      ...row('choice without type', choiceName, 'some text'),
      ...row('choice of another type', choiceName && `${choiceName}Base64Binary`, 'YWJj'),
    ]
  })

const JSON_FAULTS: readonly (readonly [kind: string, applies: (place: Place) => boolean, value: (value: unknown) => unknown])[] = [
  ['text for boolean', ({ value }) => typeof value === 'boolean', String],
  ['text for number', ({ value }) => typeof value === 'number', String],
  ['number for text', ({ value }) => typeof value === 'string', () => 5],
  ['boolean for text', ({ value }) => typeof value === 'string', () => true],
  ['object for primitive', ({ value, member }) => member.at === undefined && !Array.isArray(value), (value) => ({ value })],
  ['text for object', ({ value, member }) => member.at !== undefined && !Array.isArray(value), () => 'some text'],
  ['object for list', ({ value, member }) => member.at !== undefined && Array.isArray(value), (value) => (value as readonly unknown[])[0]],
  ['text for list', ({ value, member }) => member.at === undefined && Array.isArray(value), (value) => (value as readonly unknown[])[0]],
  ['list in list', ({ value }) => Array.isArray(value), (value) => [value]],
  ['text in list', ({ value, member }) => member.at !== undefined && Array.isArray(value), () => ['some text']],
]

export const jsonType: Breaker = (_, { places }) =>
  places.filter(isFirst).flatMap((place) => {
    const neighbour = otherValue(place)
    if (neighbour === undefined) return []
    return JSON_FAULTS.filter(([, applies]) => applies(place)).map(([kind, , value]) => ({
      kind,
      element: place.member.definition.path,
      break: [putPatch(place.path, value(place.value))],
      neighbour,
    }))
  })

/** Values that other things hang on. */
const KEPT = new Set([
  'url',
  'id',
  'linkId',
  'path',
  'reference',
  'system',
  'code',
  'type',
  'kind',
  'fullUrl',
  'unit',
  'value',
  'start',
  'end',
  'mode',
  'coordinateSystem',
  'profile',
  'versionId',
])

/** Another value in the same place. */
export function otherValue({ member, path, value, host }: Place): readonly Patch[] | undefined {
  const { key, type, definition } = member
  if (Array.isArray(value)) return member.at === undefined ? undefined : [putPatch([...path, 0, 'id'], 'some-id')]
  if (member.at !== undefined) return [putPatch([...path, 'id'], 'some-id')]
  const required = definition.binding?.strength === 'required'
  const other = required ? undefined : KEPT.has(key) ? undefined : another(value, type.code)
  return [other === undefined ? putPatch([...host.path, `_${key}`], { id: 'some-id' }) : putPatch(path, other)]
}

/** Types whose value may be an extension alone. */
const OPEN = new Set(['CodeableConcept', 'Reference', 'Quantity', 'Identifier', 'Period', 'Coding', 'Money'])

export const requiredMissing: Breaker = (_, { places }) =>
  places.filter(isFirst).flatMap((place): readonly Candidate[] => {
    const { member, path, value, host } = place
    if (!isRequired(member)) return []
    const removals = [removalPatch(path)]
    const element = member.definition.path
    const kind = isChoice(member) ? 'choice' : member.at === undefined ? 'primitive' : host.path.length === 0 ? 'object' : 'object within'
    const neighbour = neighbourOfMissing(place)
    if (neighbour === undefined) return []
    const onlyExtension = { kind: 'list of none', element, break: [putPatch(path, [])], neighbour }
    return Array.isArray(value)
      ? [{ kind, element, break: removals, neighbour }, onlyExtension]
      : [{ kind, element, break: removals, neighbour }]
  })

function neighbourOfMissing(place: Place): readonly Patch[] | undefined {
  const { member, path, value, host } = place
  if (Array.isArray(value)) return member.at === undefined ? undefined : [putPatch([...path, 0, 'id'], 'some-id')]
  if (member.at === undefined && !isChoice(member) && !KEPT.has(member.key) && member.definition.binding?.strength !== 'required')
    return unknownInstead(place)
  if (OPEN.has(member.type.code) && member.key !== 'code') return [putPatch(path, { extension: [EXTENSION] })]
  return addElement(host)
}

export const tooMany: Breaker = (_, { places }) =>
  places.filter(isFirst).flatMap((place): readonly Candidate[] => {
    const { member, path, value, host } = place
    const element = member.definition.path
    const isSimple = member.type.profiles.includes('SimpleQuantity') && !Array.isArray(value)
    const simple = {
      kind: 'comparator of a simple quantity',
      element,
      break: [putPatch([...path, 'comparator'], '<')],
      neighbour: [putPatch([...path, 'id'], 'some-id')],
    }
    if (isList(member)) return []
    const twice = {
      kind: member.at === undefined ? 'primitives' : 'objects',
      element,
      break: [putPatch(path, [value, value])],
      neighbour: listed(place),
    }
    const once = { kind: 'one in a list', element, break: [putPatch(path, [value])], neighbour: addElement(host) }
    return isSimple ? [simple, twice] : [twice, once]
  })

/** A list of the same object with an item more, else an element more. */
function listed({ host }: Place): readonly Patch[] {
  for (const member of membersAt(host.at).values()) {
    const value = host.value[member.key]
    if (!Array.isArray(value) || !REPEATABLE.has(member.type.code)) continue
    return [putPatch([...host.path, member.key, value.length], value[0])]
  }
  return addElement(host)
}

const REPEATABLE = new Set(['CodeableConcept', 'Identifier', 'Annotation', 'HumanName', 'Address', 'string', 'Reference'])

export const emptyOrNull: Breaker = (_, { places }) =>
  places.filter(isFirst).flatMap((place): readonly Candidate[] => {
    const { member, path, value } = place
    const element = member.definition.path
    const neighbour = otherValue(place)
    const row = (kind: string, broken: unknown, right = neighbour): readonly Candidate[] =>
      right === undefined ? [] : [{ kind, element, break: [putPatch(path, broken)], neighbour: right }]
    if (member.at === undefined && !Array.isArray(value))
      return [...(typeof value === 'string' ? row('empty text', '') : []), ...row('null', null)]
    if (!Array.isArray(value)) return [...row('empty object', {}), ...row('null for an object', null)]
    if (member.at !== undefined)
      return [...row('empty list', []), ...row('empty object in a list', [{}]), ...row('null in a list of objects', [...value, null])]
    if (member.definition.binding?.strength === 'required' || KEPT.has(member.key))
      return row('empty list of texts', [], [putPatch(path, value.slice(0, 1))])
    const padded = [
      putPatch(path, [...value, null]),
      putPatch(siblingPath(path, `_${member.key}`), [...value.map(() => null), { extension: [EXTENSION] }]),
    ]
    return [
      ...row('empty list of texts', [], padded),
      ...row('null beside a value', [...value, null], padded),
      ...row('empty text in a list', [...value, ''], padded),
    ]
  })

export const twoChoices: Breaker = (_, { places }) =>
  places.filter(isFirst).flatMap((place): readonly Candidate[] => {
    const { member, path, host, value } = place
    if (!isChoice(member)) return []
    const forms = [...membersAt(host.at).values()].filter(({ definition }) => definition === member.definition)
    return forms
      .filter((form) => form !== member && sampleOf(form.type.code) !== undefined && form.type.code !== 'Reference')
      .map((form) => {
        const second = putPatch(siblingPath(path, form.key), sampleOf(form.type.code))
        const kind = form.at === undefined ? 'a primitive beside' : 'an object beside'
        return {
          kind: typeof value === 'object' ? `${kind} an object` : kind,
          element: member.definition.path,
          break: [second],
          neighbour: [removalPatch(path), second],
        }
      })
  })
