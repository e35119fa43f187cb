/** Breaks of values: formats, companions of primitives, codes, references, and the resource as a whole. */
import { addElement, type Breaker, type Candidate, isFirst, type Patch, putPatch, removalPatch, siblingPath } from './candidate.ts'
import { codesOf } from './codes.ts'
import { isList, membersAt, type Tree } from './definitions.ts'
import type { Place } from './places.ts'
import { EXTENSION, extensionOf, TYPES_OF_EXTENSION } from './samples.ts'

/** Type → what is no such value, what is. https://hl7.org/fhir/R4/datatypes.html#primitive */
const FORMATS: Readonly<Record<string, readonly [bad: readonly unknown[], good: readonly unknown[]]>> = {
  date: [
    ['2024-13', '2023-02-29', '24-01-01', '2024-1-1', '2024-05-31T08:15:00Z', '31.05.2024'],
    ['2024', '2024-02', '2024-02-29'],
  ],
  dateTime: [
    ['2024-05-31T08:15', '2024-05-31T08:15:00', '2024-05-31T25:00:00Z', '2024-05-31 08:15:00Z', '2024-05-32', '2024-05-31T08:15:00+25:00'],
    ['2024', '2024-05', '2024-05-31T08:15:00.123456+14:00', '2024-12-31T23:59:59Z'],
  ],
  instant: [
    ['2024-05-31', '2024-05-31T08:15:00', '2024-05', 'now'],
    ['2024-05-31T08:15:00Z', '2024-05-31T08:15:00.123-11:30'],
  ],
  time: [
    ['8:15:00', '24:00:00', '08:15', '08:15:00Z'],
    ['00:00:00', '23:59:59.999'],
  ],
  id: [
    ['a_b', 'x'.repeat(65), 'a b', 'ä'],
    ['x'.repeat(64), 'a.B-9'],
  ],
  code: [
    [' a', 'a ', 'a  b', 'a\tb'],
    ['a b', 'a-b.c'],
  ],
  uri: [
    ['http://example.org/a b', ' urn:x:y'],
    ['urn:example:a', 'http://example.org/a#b'],
  ],
  url: [['http://example.org/a b'], ['mailto:a@example.org', 'http://example.org/a?b=c']],
  canonical: [['http://example.org/a b'], ['http://example.org/a|1.0', 'http://example.org/a']],
  oid: [['urn:oid:3.1', '1.2.3', 'urn:oid:1.02.3', 'urn:oid:1'], ['urn:oid:2.16.840.1.113883']],
  uuid: [
    ['c757873d-ec9a-4326-a141-556f43239520', 'urn:uuid:c757873d', 'urn:uuid:c757873d-ec9a-4326-a141-556f4323952g'],
    ['urn:uuid:05efabf0-4be2-4561-91ce-51548425acb9'],
  ],
  base64Binary: [
    ['!!!!', 'YWJ', 'YW=j'],
    ['YWI=', 'YWJj ZGVm'],
  ],
  positiveInt: [
    [0, -1, 1.5, 2147483648],
    [1, 2147483647],
  ],
  unsignedInt: [
    [-1, 0.5],
    [0, 2147483647],
  ],
  integer: [
    [1.5, 2147483648, -2147483649],
    [-2147483648, 0],
  ],
  string: [
    ['a\u0001b', 'a\u0000b'],
    ['a\tb\nc', 'Ω≈ç√∫ 😀'],
  ],
  markdown: [['a\u0002b'], ['# a\n\n* b']],
}

export const format: Breaker = (resource, { places }) => [...places.filter(isFirst).flatMap(formatOf), ...inExtensions(resource)]

const BOUND = new Set([
  'id',
  'linkId',
  'url',
  'fullUrl',
  'system',
  'reference',
  'path',
  'start',
  'end',
  'type',
  'versionId',
  'code',
  'language',
  'coordinateSystem',
])

function formatOf({ member, path, value }: Place): readonly Candidate[] {
  const { type, definition, key } = member
  const [bad, good] = FORMATS[type.code] ?? [[], []]
  if (
    member.at !== undefined ||
    definition.binding?.strength === 'required' ||
    BOUND.has(key) ||
    isList(member) ||
    typeof value === 'object'
  )
    return []
  return pairs(type.code, definition.path, bad, good, (each) => [putPatch(path, each)])
}

const pairs = (
  type: string,
  element: string,
  bad: readonly unknown[],
  good: readonly unknown[],
  patch: (value: unknown) => readonly Patch[],
) =>
  bad.map((each, i) => ({
    kind: `${type} ${JSON.stringify(each).slice(0, 40)}`,
    element,
    break: patch(each),
    neighbour: patch(good[i % good.length]),
  }))

/** Types that elements of few resources have: as values of an extension. */
function inExtensions(resource: Tree): readonly Candidate[] {
  if (resource.resourceType === 'Bundle' || resource.extension !== undefined) return []
  return Object.entries(FORMATS).flatMap(([type, [bad, good]]) =>
    TYPES_OF_EXTENSION.has(type)
      ? pairs(type, 'Extension.value[x]', bad, good, (value) => [putPatch(['extension'], [extensionOf(type, value)])])
      : [],
  )
}

const COMPANIONS: readonly (readonly [kind: string, companion: unknown])[] = [
  ['text', 'some text'],
  ['empty', {}],
  ['null', null],
  ['with a value', { value: 'some text' }],
  ['unknown property', { extension: [EXTENSION], foo: 'some text' }],
  ['extension no list', { extension: EXTENSION }],
  ['extension without url', { extension: [{ valueString: 'some text' }] }],
  ['extension without value', { extension: [{ url: EXTENSION.url }] }],
  ['extension with both', { extension: [{ ...EXTENSION, extension: [EXTENSION] }] }],
  ['id no text', { id: 5 }],
  ['list for one', [{ extension: [EXTENSION] }]],
]

/** https://hl7.org/fhir/R4/json.html#primitive */
export const companion: Breaker = (_, { places }) =>
  places.filter(isFirst).flatMap((place): readonly Candidate[] => {
    const { member, path, value } = place
    const at = siblingPath(path, `_${member.key}`)
    const element = `${member.definition.path}`
    if (member.key === 'resourceType' || member.key === 'div') return []
    if (member.at !== undefined) {
      const right = Array.isArray(value) ? putPatch([...path, 0, 'id'], 'some-id') : putPatch([...path, 'id'], 'some-id')
      return [
        { kind: 'of an object', element, break: [putPatch(at, Array.isArray(value) ? [{ id: 'a' }] : { id: 'a' })], neighbour: [right] },
      ]
    }
    if (Array.isArray(value)) return listCandidates(at, element, value)
    const neighbour = [putPatch(at, { id: 'some-id', extension: [EXTENSION] })]
    return member.key === 'id' || member.key === 'url'
      ? []
      : COMPANIONS.map(([kind, each]) => ({ kind, element, break: [putPatch(at, each)], neighbour }))
  })

function listCandidates(at: Place['path'], element: string, value: readonly unknown[]): readonly Candidate[] {
  const item = { extension: [EXTENSION] }
  const neighbour = [
    putPatch(
      at,
      value.map((_, i) => (i === 0 ? item : null)),
    ),
  ]
  return [
    { kind: 'object for a list', element, break: [putPatch(at, item)], neighbour },
    { kind: 'longer list', element, break: [putPatch(at, [...value.map(() => null), item, null])], neighbour },
  ]
}

export const requiredBinding: Breaker = (_, { places }) =>
  places.filter(isFirst).flatMap((place): readonly Candidate[] => {
    const { member, path, value } = place
    const { binding, path: element } = member.definition
    const codes = binding?.strength === 'required' ? codesOf(binding.valueSet) : []
    if (codes.length === 0 || element === 'Bundle.type') return []
    const type = member.type.code
    const first = Array.isArray(value) ? [...path, 0] : path
    const item = Array.isArray(value) ? value[0] : value
    if (type === 'code') return codeCandidates(element, first, String(item), codes)
    if (type === 'CodeableConcept' && item.coding?.[0] !== undefined)
      return codingCandidates(element, [...first, 'coding', 0], item.coding[0], codes)
    return type === 'Coding' ? codingCandidates(element, first, item, codes) : []
  })

type Codes = ReturnType<typeof codesOf>

function codeCandidates(element: string, path: Place['path'], code: string, codes: Codes): readonly Candidate[] {
  const neighbour = [putPatch(path, codes.find((each) => each.code !== code)?.code ?? code)]
  return ['no-such-code', code.toUpperCase(), `${code}x`]
    .filter((each) => !codes.some((known) => known.code === each))
    .map((each, i) => ({ kind: ['unknown', 'of capitals', 'misspelt'][i]!, element, break: [putPatch(path, each)], neighbour }))
}

function codingCandidates(element: string, path: Place['path'], coding: Tree, codes: Codes): readonly Candidate[] {
  const { system, code } = codes.find((each) => each.code !== coding.code) ?? codes[0]!
  const neighbour = [putPatch(path, { system, code })]
  return [
    { kind: 'unknown in its system', element, break: [putPatch(path, { system, code: 'no-such-code' })], neighbour },
    { kind: 'of another system', element, break: [putPatch(path, { system: 'http://example.org/codes', code })], neighbour },
    { kind: 'without system', element, break: [putPatch(path, { code })], neighbour },
  ]
}

/** Types a reference is not to be to; the first that is not allowed. */
const OTHERS = ['Basic', 'Patient', 'Slot']

export const referenceTarget: Breaker = (_, { places }) =>
  places.filter(isFirst).flatMap((place): readonly Candidate[] => {
    const { member, path, value } = place
    const { targets } = member.type
    if (member.type.code !== 'Reference' || targets.length === 0 || targets.includes('Resource')) return []
    const item = Array.isArray(value) ? [...path, 0] : path
    const invalid = OTHERS.find((type) => !targets.includes(type))!
    const right = targets[0]!
    const row = (kind: string, bad: Tree, good: Tree): Candidate => ({
      kind,
      element: member.definition.path,
      break: [putPatch(item, bad)],
      neighbour: [putPatch(item, good)],
    })
    const base = 'https://example.org/fhir/'
    return [
      row('relative', { reference: `${invalid}/a` }, { reference: `${right}/a` }),
      row('absolute', { reference: `${base}${invalid}/a` }, { reference: `${base}${right}/a` }),
      row('versioned', { reference: `${invalid}/a/_history/1` }, { reference: `${right}/a/_history/1` }),
      row('other types', { reference: `${invalid}/a`, display: 'some' }, { reference: 'urn:uuid:05efabf0-4be2-4561-91ce-51548425acb9' }),
      row('type that is not its', { reference: `${right}/a`, type: invalid }, { reference: `${right}/a`, type: right }),
    ]
  })

const TYPES: readonly (readonly [kind: string, resourceType?: unknown])[] = [
  ['no type'],
  ['unknown type', 'Pacient'],
  ['a type of data', 'HumanName'],
  ['type null', null],
  ['type a number', 5],
  ['type a list', ['Patient']],
]

/** The resource's type, and what it contains. https://hl7.org/fhir/R4/references.html#contained */
export const wholeResource: Breaker = (resource, { places, hosts }) => {
  const { resourceType } = resource
  const root = hosts[0]!
  const ofType = [...TYPES, ['lower case', String(resourceType).toLowerCase()] as const, ['abstract', 'DomainResource'] as const].map(
    ([kind, type]) => ({
      kind,
      element: resourceType,
      break: [type === undefined ? removalPatch(['resourceType']) : putPatch(['resourceType'], type)],
      neighbour: addElement(root),
    }),
  )
  return [...ofType, ...contained(resource, places)]
}

const CONTAINABLE = ['Patient', 'Practitioner', 'Location', 'Device', 'RelatedPerson', 'Organization']

function contained(resource: Tree, places: readonly Place[]): readonly Candidate[] {
  const place = places
    .filter(isFirst)
    .find(
      ({ member, host }) =>
        member.type.code === 'Reference' && member.type.targets.some((type) => CONTAINABLE.includes(type)) && host.path.length === 0,
    )
  if (place === undefined || resource.contained !== undefined || !membersAt(resource.resourceType).has('contained')) return []
  const type = CONTAINABLE.find((each) => place.member.type.targets.includes(each))!
  const reference = putPatch([...(Array.isArray(place.value) ? [...place.path, 0] : place.path)], { reference: '#held' })
  const contained: Tree = { resourceType: type, id: 'held', ...(type === 'Organization' ? { name: 'some' } : { language: 'en' }) }
  const neighbour = [putPatch(['contained'], [contained]), reference]
  const row = (kind: string, list: readonly unknown[], patches: readonly Patch[] = [reference]): Candidate => ({
    kind,
    element: `${resource.resourceType}.contained`,
    break: [putPatch(['contained'], list), ...patches],
    neighbour,
  })
  const { id: _, ...nameless } = contained
  return [
    row('contained without id', [nameless]),
    row('contained not referred to', [contained], []),
    row('contained in a contained one', [{ ...contained, contained: [{ ...contained, id: 'within' }] }]),
    row('contained with a version', [{ ...contained, meta: { versionId: '1' } }]),
    row('contained with a time', [{ ...contained, meta: { lastUpdated: '2024-01-01T00:00:00Z' } }]),
    row('contained with a security label', [{ ...contained, meta: { security: [{ code: 'R' }] } }]),
    row('contained of no type', [{ ...contained, resourceType: undefined }]),
    row('contained of unknown type', [{ ...contained, resourceType: 'Pacient' }]),
    row('contained that is not there', [{ ...contained, id: 'another' }]),
  ]
}
