/** Bindings: a code is in, out or undecided, the strength sets the severity, and codes are checked in known systems. https://hl7.org/fhir/R4/terminologies.html */
import { expect, it } from '@jest/globals'
import { buildPackage } from '../../../lambdas/fhir/profile/definitions/package-files.ts'
import type { Resource } from '../../../lambdas/fhir/resource.ts'
import { PROFILE_URL, profile, profileCheckerOf } from '../../fixtures/profiles/checking.ts'

const set = (url: string, more: object): Resource => ({ resourceType: 'ValueSet', url, ...more })
const SYSTEM = {
  resourceType: 'CodeSystem',
  url: 's',
  content: 'complete',
  concept: [{ code: 'a', concept: [{ code: 'b' }] }, { code: 'c' }],
}
const SETS: readonly Resource[] = [
  set('listed', { compose: { include: [{ system: 's', concept: [{ code: 'a' }] }] } }),
  set('whole', { compose: { include: [{ system: 's' }] } }),
  set('below', { compose: { include: [{ system: 's', filter: [{ property: 'concept', op: 'is-a', value: 'a' }] }] } }),
  set('untold', { compose: { include: [{ system: 's', filter: [{ property: 'colour', op: '=', value: 'red' }] }] } }),
  set('without', { compose: { include: [{ system: 's' }], exclude: [{ system: 's', concept: [{ code: 'a' }] }] } }),
  set('nested', { compose: { include: [{ valueSet: ['whole', 'without'] }] } }),
  set('expanded', {
    expansion: {
      contains: [
        { system: 's', code: 'a', contains: [{ system: 's', code: 'b' }] },
        { system: 's', code: 'x', abstract: true },
      ],
    },
  }),
  set('part', { expansion: { total: 9, contains: [{ system: 's', code: 'a' }] } }),
  set('units', { compose: { include: [{ system: 'http://unitsofmeasure.org' }] } }),
  SYSTEM,
]

const coded = (code: string, system = 's'): Resource => ({
  resourceType: 'Observation',
  valueCodeableConcept: { coding: [{ system, code }] },
})

async function severities(valueSet: string, resource: Resource, strength = 'required'): Promise<readonly string[]> {
  const find = profileCheckerOf([profile([{ id: 'Observation.value[x]', binding: { strength, valueSet } }]), ...SETS])
  const { issues } = await find(resource, [PROFILE_URL])
  return issues
    .filter(({ expression, text }) => expression === 'Observation.value' && text.includes('value set'))
    .map(({ severity }) => severity)
}

const UNKNOWN = ['information']

/** Value set, code, and the severities found: none, an error, or information if it is undecided. */
const ROWS: readonly (readonly [string, string, readonly string[]])[] = [
  ['listed', 'a', []],
  ['listed', 'b', ['error']],
  ['whole', 'any', []],
  ['below', 'a', []],
  ['below', 'b', []],
  ['below', 'c', ['error']],
  ['below', 'constructor', ['error']],
  ['untold', 'a', UNKNOWN],
  ['without', 'a', ['error']],
  ['without', 'b', []],
  ['nested', 'a', ['error']],
  ['nested', 'b', []],
  ['expanded', 'a', []],
  ['expanded', 'b', []],
  ['expanded', 'x', ['error']],
  ['part', 'a', []],
  ['part', 'b', UNKNOWN],
  ['nowhere', 'a', UNKNOWN],
]

it.each(ROWS)('the value set %s with the code %s gives %j', async (valueSet, code, expected) => {
  expect(await severities(valueSet, coded(code))).toEqual(expected)
})

it.each([
  ['nowhere', 'the value set nowhere is not loaded, or does not say which codes it has'],
  ['elsewhere', 'the code system t is not loaded'],
  ['untold', 'the filter colour = of s is not supported'],
  ['part', 'the value set is loaded only in part'],
  ['circle', 'the value set circle is a part of itself'],
])('the reason for an undecided code is reported: %s', async (valueSet, reason) => {
  const others = [
    set('elsewhere', { compose: { include: [{ system: 't', filter: [{ property: 'concept', op: 'is-a', value: 'a' }] }] } }),
    set('circle', { compose: { include: [{ valueSet: ['circle'] }] } }),
  ]
  const find = profileCheckerOf([
    profile([{ id: 'Observation.value[x]', binding: { strength: 'required', valueSet } }]),
    ...SETS,
    ...others,
  ])
  const { issues } = await find(coded('z', valueSet === 'elsewhere' ? 't' : 's'), [PROFILE_URL])
  expect(issues.filter(({ text }) => text.includes('value set')).map(({ severity, text }) => [severity, text])).toEqual([
    ['information', `Whether the code is in the value set ${valueSet} is not known: ${reason}`],
  ])
})

/** https://hl7.org/fhir/R4/codesystem.html#defined-props */
it('parent and child properties may define a hierarchy of codes', async () => {
  const property = (code: string, valueCode: string) => [{ code, valueCode }]
  const flat: Resource = {
    ...SYSTEM,
    url: 'flat',
    property: [
      { code: 'subsumedBy', uri: 'http://hl7.org/fhir/concept-properties#parent', type: 'code' },
      { code: 'colour', type: 'code' },
    ],
    concept: [
      { code: 'a', property: property('child', 'b') },
      { code: 'b', property: property('child', 'nowhere') },
      { code: 'c', property: property('subsumedBy', 'b') },
      { code: 'd', property: property('parent', 'c'), concept: [{ code: 'e' }] },
      { code: 'f', property: property('colour', 'a') },
      { code: 'g', property: [...property('parent', 'h'), ...property('parent', 'a')] },
      { code: 'h', property: property('parent', 'g') },
    ],
  }
  const below = set('under a', {
    compose: { include: [{ system: 'flat', filter: [{ property: 'concept', op: 'descendent-of', value: 'a' }] }] },
  })
  const find = profileCheckerOf([
    profile([{ id: 'Observation.value[x]', binding: { strength: 'required', valueSet: 'under a' } }]),
    flat,
    below,
  ])
  const isIn = async (code: string): Promise<boolean> => {
    const { issues } = await find(coded(code, 'flat'), [PROFILE_URL])
    return !issues.some(({ text }) => text.includes('value set'))
  }
  const codes = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'nowhere']
  expect(Object.fromEntries(await Promise.all(codes.map(async (code) => [code, await isIn(code)])))).toEqual({
    ...{ a: false, b: true, c: true, d: true, e: true, f: false, g: true, h: true, nowhere: false },
  })
})

it('a code system with too many ancestors in total is left out', async () => {
  const concept = Array.from({ length: 2_000 }, (_, i) => ({ code: `c${i}`, property: [{ code: 'parent', valueCode: `c${i + 1}` }] }))
  const deep: Resource = { ...SYSTEM, url: 'deep', concept }
  const { leftOut } = buildPackage({ name: 'own', version: '1' }, [deep], () => false)
  expect(leftOut).toEqual([{ url: 'deep', reason: 'Its codes have more than 1000000 codes above them, in sum' }])
})

it('a code of a system that no include names is not in the value set', async () => {
  expect(await severities('whole', coded('a', 'other'))).toEqual(['error'])
})

it.each([
  ['has a code that is listed', { coding: [{ code: 'a', system: 's' }] }, []],
  ['has a code without a system', { coding: [{ code: 'a' }] }, ['error']],
  [
    'gives the reason of its absence in an extension',
    { extension: [{ url: 'http://hl7.org/fhir/StructureDefinition/data-absent-reason', valueCode: 'unknown' }] },
    [],
  ],
])('a concept that %s gives %j', async (_what, valueCodeableConcept, expected) => {
  expect(await severities('listed', { resourceType: 'Observation', valueCodeableConcept })).toEqual(expected)
})

it('an unknown code of a system that is included whole is an error', async () => {
  const severitiesOf = (code: string) => severities('units', coded(code, 'http://unitsofmeasure.org'))
  expect([await severitiesOf('mg'), await severitiesOf('milligrams')]).toEqual([[], ['error']])
})

it.each([
  ['required', ['error']],
  ['extensible', ['warning']],
  ['preferred', ['information']],
  ['example', []],
] as const)('a code outside a %s binding gives %j', async (strength, expected) => {
  expect(await severities('listed', coded('b'), strength)).toEqual(expected)
})

it.each([
  ['a Coding', { valueCoding: { system: 's', code: 'b' } }],
  ['a Quantity', { valueQuantity: { system: 's', code: 'b' } }],
  ['a string', { valueString: 'b' }],
  ['a CodeableConcept of text alone', { valueCodeableConcept: { text: 'b' } }],
  ['a CodeableConcept with a Coding of a display alone', { valueCodeableConcept: { coding: [{ display: 'b' }] } }],
])('a binding also applies to %s', async (_what, value) => {
  expect(await severities('listed', { resourceType: 'Observation', ...value })).toEqual(['error'])
})

it.each([
  ['http://unitsofmeasure.org', 'mg/dL', []],
  ['http://unitsofmeasure.org', '[iU]', []],
  ['http://unitsofmeasure.org', 'milligrams', ['warning']],
  ['urn:ietf:bcp:47', 'de-CH', []],
  ['urn:ietf:bcp:47', 'e', ['warning']],
  ['urn:iso:std:iso:4217', 'EUR', []],
  ['urn:iso:std:iso:4217', 'EURO', ['warning']],
  ['http://loinc.org', '85354-9', []],
  ['http://loinc.org', '85354-8', ['warning']],
  ['http://snomed.info/sct', '22298006', []],
  ['http://snomed.info/sct', '22298007', ['warning']],
])('the system %s with the code %s gives %j', async (system, code, expected) => {
  const { issues } = await profileCheckerOf([profile([{ id: 'Observation.value[x]' }])])(coded(code, system), [PROFILE_URL])
  expect(issues.filter(({ expression }) => expression === 'Observation.value.coding[0]').map(({ severity }) => severity)).toEqual(expected)
})

const CODE = 'Observation.component.code'
const boundAs = (url: string, strength: string, valueSet: string, id = 'Observation.value[x]'): Resource =>
  profile([{ id, binding: { strength, valueSet } }], 'differential', url)

it.each([
  ['extensible', 'listed', 'required', 'listed', ['error']],
  ['required', 'listed', 'extensible', 'listed', ['error']],
  ['preferred', 'listed', 'extensible', 'listed', ['warning']],
  ['extensible', 'listed', 'required', 'listed|1', ['error']],
  ['extensible', 'listed', 'required', 'below', ['warning', 'error']],
])('bindings %s to %s and %s to %s report their strictest finding per value set', async (first, set, second, other, expected) => {
  const versioned = SETS.map((each) => (each.url === 'listed' ? { ...each, version: '1' } : each))
  const find = profileCheckerOf([boundAs('first', first, set), boundAs('second', second, other), ...versioned])
  const { issues } = await find(coded('c'), ['first', 'second'])
  expect(issues.filter(({ text }) => text.includes('value set')).map(({ severity }) => severity)).toEqual(expected)
})

it('a stricter finding of a second profile does not count twice toward the limit', async () => {
  const find = profileCheckerOf([boundAs('first', 'preferred', 'listed', CODE), boundAs('second', 'extensible', 'listed', CODE), ...SETS])
  const component = Array.from({ length: 60 }, () => ({ code: { coding: [{ system: 's', code: 'c' }] } }))
  const { issues } = await find({ resourceType: 'Observation', component }, ['first', 'second'])
  expect(issues.filter(({ text }) => /value set|more findings/.test(text)).map(({ severity }) => severity)).toEqual(
    component.map(() => 'warning'),
  )
})

/** https://hl7.org/fhir/R4/extension-elementdefinition-maxvalueset.html */
it.each([
  ['required', 'a', []],
  ['extensible', 'b', ['warning']],
  ['extensible', 'c', ['warning', 'error']],
  ['preferred', 'c', ['information', 'error']],
  ['example', 'b', []],
  ['example', 'c', ['error']],
])('a maximum value set limits the codes of a %s binding: %s', async (strength, code, expected) => {
  const extension = [{ url: 'http://hl7.org/fhir/StructureDefinition/elementdefinition-maxValueSet', valueCanonical: 'below' }]
  const find = profileCheckerOf([profile([{ id: 'Observation.value[x]', binding: { strength, valueSet: 'listed', extension } }]), ...SETS])
  const { issues } = await find(coded(code), [PROFILE_URL])
  expect(issues.filter(({ text }) => text.includes('value set')).map(({ severity }) => severity)).toEqual(expected)
})
