/** The contexts in which the definition of an extension allows it. https://hl7.org/fhir/R4/defining-extensions.html#context */
import { describe, expect, it } from '@jest/globals'
import type { Resource } from '../../../lambdas/fhir/resource.ts'
import { EXPRESSIONS } from '../../fixtures/expressions.ts'
import { profileCheckerOf } from '../../fixtures/profiles/checking.ts'

const URL = 'http://example.org/mark'
const mark = { url: URL, valueString: 'x' }
const extension = [mark]

const definition = (type: string, expression: string): Resource => ({
  ...{ resourceType: 'StructureDefinition', url: URL, type: 'Extension', kind: 'complex-type', derivation: 'constraint' },
  ...{ baseDefinition: 'http://hl7.org/fhir/StructureDefinition/Extension', context: [{ type, expression }] },
  differential: { element: [{ id: 'Extension.url', path: 'Extension.url', fixedUri: URL }] },
})

const outer = { resourceType: 'Patient', extension: [{ url: 'http://example.org/outer', extension: [mark] }] }
const patient = { resourceType: 'Patient', extension }
const bundle = { resourceType: 'Bundle', type: 'collection', entry: [{ extension }] }
const name = { resourceType: 'Patient', name: [{ extension }] }
const given = { resourceType: 'Patient', name: [{ given: ['x'], _given: [{ extension }] }] }
const contact = { resourceType: 'Patient', contact: [{ name: { text: 'x' }, extension }] }
const age = { resourceType: 'Condition', onsetAge: { value: 1, extension } }
const quantity = { resourceType: 'Observation', valueQuantity: { value: 1, extension } }
const ageValue = { resourceType: 'Condition', onsetAge: { value: 1, _value: { extension } } }
const gender = { resourceType: 'Patient', gender: 'male', _gender: { extension } }
const timing = { resourceType: 'ServiceRequest', occurrenceTiming: { extension } }
const repeat = { resourceType: 'ServiceRequest', occurrenceTiming: { repeat: { extension } } }
const meta = { resourceType: 'Patient', meta: { extension } }
const item = { resourceType: 'Questionnaire', item: [{ linkId: '1', item: [{ linkId: '2', extension }] }] }
const linkId = { resourceType: 'Questionnaire', item: [{ linkId: '1', item: [{ linkId: '2', _linkId: { extension } }] }] }

/** Type and expression of the context, resources that may have the extension, and resources that may not. */
const ROWS: readonly (readonly [string, string, readonly object[], readonly object[]])[] = [
  ['element', 'Element', [patient, name, contact, gender, bundle], []],
  ['element', 'Patient', [patient], [name, contact]],
  ['element', 'Resource', [patient], [name, gender]],
  ['element', 'DomainResource', [patient], [name, bundle]],
  ['element', 'BackboneElement', [contact, bundle, timing], [patient, name, gender, repeat]],
  ['element', 'HumanName', [name], [patient, contact, given]],
  ['element', 'HumanName.given', [given], [name]],
  ['element', 'Patient.name.given', [given], [name]],
  ['element', 'Patient.contact', [contact], [name, patient]],
  ['element', 'DomainResource.contact', [contact], [name]],
  ['element', 'Resource.meta', [meta], [patient]],
  ['element', 'Quantity', [age, quantity], [ageValue]],
  ['element', 'Age', [age], [quantity]],
  ['element', 'Quantity.value', [ageValue], [age]],
  ['element', 'string', [gender, given], [name]],
  ['element', 'Condition.onset[x]', [age], [ageValue]],
  ['element', 'Condition.onset', [age], [quantity]],
  ['element', 'Questionnaire.item', [item], [patient]],
  ['element', 'Questionnaire.item.item', [item], [patient]],
  ['element', 'Questionnaire.item.linkId', [linkId], [item]],
  ['element', 'Questionnaire.item.item.linkId', [linkId], [item]],
  ['element', 'contact', [], [contact, patient]],
  ['element', 'Group.name.given', [], [given]],
  ['element', 'http://example.org/profile#Patient.name:official', [name], [patient, contact]],
  ['extension', 'http://example.org/outer', [outer], [patient, name]],
] // biome-ignore format: a table

it.each(ROWS)('an extension is allowed only on %s %s', async (type, expression, allowed, others) => {
  const find = profileCheckerOf([definition(type, expression)])
  const told = async (resource: object): Promise<boolean> => {
    const { issues } = await find(resource as Resource, [])
    return issues.some(({ severity, text }) => severity === 'error' && text.startsWith('This extension may stand only on'))
  }
  for (const resource of allowed) expect([resource, await told(resource)]).toEqual([resource, false])
  for (const resource of others) expect([resource, await told(resource)]).toEqual([resource, true])
})

/** Returns the findings about the extension, with their paths. */
async function told(definitions: readonly Resource[], resource: object, expressions = EXPRESSIONS): Promise<readonly string[]> {
  const { issues } = await profileCheckerOf(definitions, expressions)(resource as Resource, [])
  return issues
    .filter(({ text }) => text.includes(URL))
    .map(({ severity, expression, text }) => `${severity} ${expression}: ${text.replace(` ${URL}`, '')}`)
}

const names = (...uses: readonly string[]): object => ({ resourceType: 'Patient', name: uses.map((use) => ({ use, extension })) })

describe('a context in FHIRPath', () => {
  const ROWS: readonly (readonly [string, object, boolean])[] = [
    ['Patient.name', name, true],
    ['name', name, true],
    ['Patient.name', patient, false],
    ['Patient', patient, true],
    ['Patient.name.given', given, true],
    ['Patient.name.given', name, false],
    ['Patient.gender', gender, true],
    ['Condition.onset', age, true],
    ['Condition.onset as Age', age, true],
    ['Condition.onset', { resourceType: 'Condition', onsetAge: { value: 1 }, abatementAge: { value: 1, extension } }, false],
    ['Condition.onset.value', ageValue, true],
    ['Observation.value.ofType(Quantity)', quantity, true],
    ["Patient.extension.where(url = 'http://example.org/outer')", outer, true],
    ['Patient.contact', { ...patient, extension: [], contained: [contact] }, true],
    ['Patient.name', { resourceType: 'Bundle', type: 'collection', entry: [{ resource: name }] }, true],
    ['Bundle.entry.resource.name', { resourceType: 'Bundle', type: 'collection', entry: [{ resource: name }] }, false],
    ['descendants()', item, true],
  ] // biome-ignore format: a table

  it.each(ROWS)('decides whether an extension is allowed: %s: %j, %s', async (expression, resource, isAllowed) => {
    const found = await told([definition('fhirpath', expression)], resource)
    expect(found.map((text) => text.replace(/^(\w+) .*?: /, '$1: '))).toEqual(
      isAllowed ? [] : [`error: This extension may stand only on ${expression} (context,)`],
    )
  })

  it('selects one element, not an equal one', async () => {
    const found = await told([definition('fhirpath', "Patient.name.where(use = 'official')")], names('official', 'usual', 'official'))
    expect(found).toEqual([
      "error Patient.name[1].extension[0]: This extension may stand only on Patient.name.where(use = 'official') (context,)",
    ])
    const same = { resourceType: 'Patient', name: [{ extension }, { extension }] }
    expect(await told([definition('fhirpath', 'Patient.name.first()')], same)).toEqual([
      'error Patient.name[1].extension[0]: This extension may stand only on Patient.name.first() (context,)',
    ])
  })

  it('may be one of several contexts', async () => {
    const either = (...expressions: readonly string[]): Resource => ({
      ...definition('element', 'Patient.photo'),
      context: [{ type: 'element', expression: 'Patient.photo' }, ...expressions.map((expression) => ({ type: 'fhirpath', expression }))],
    })
    expect(await told([either("name.where(use='usual')", 'Patient.contact')], names('usual'))).toEqual([])
    expect(await told([either('Patient.contact', "name.where(use='usual')", 'Patient.link')], names('usual', 'old'))).toHaveLength(1)
    expect(await told([either('Patient.contact', 'Patient.link')], { resourceType: 'Patient', photo: [{ extension }] })).toEqual([])
  })

  it('is reported if it is no FHIRPath', async () => {
    expect(await told([definition('fhirpath', 'Patient.name.where(')], name)).toEqual([
      expect.stringMatching(
        /^warning Patient.name\[0\].extension\[0\]: The rule context could not be evaluated: it is no FHIRPath, .*line 1/,
      ),
    ])
  })
})

/** https://hl7.org/fhir/R4/structuredefinition-definitions.html#StructureDefinition.contextInvariant */
describe('a context invariant', () => {
  const ruled = (...contextInvariant: readonly string[]): Resource => ({ ...definition('element', 'Element'), contextInvariant })

  it.each([
    ["use = 'official'", names('official', 'old'), ['Patient.name[1]']],
    ['extension.count() = 1', { resourceType: 'Patient', extension: [mark, mark] }, ['Patient', 'Patient']],
    ["%extension.value = 'x'", name, []],
    ["%extension.value = 'y'", name, ['Patient.name[0]']],
    ["%extension.value = 'x' and %resource.name.exists()", given, []],
    ["$this = 'male' and %extension.value != 'x'", gender, ['Patient.gender']],
    ['value > 1', age, ['Condition.onset']],
  ])('is evaluated on the element that has the extension: %s, %j', async (invariant, resource, places) => {
    const found = await told([ruled(invariant)], resource)
    expect(found.map((text) => text.replace(/\.extension\[\d\]:.*/, ''))).toEqual(places.map((place) => `error ${place}`))
  })

  it('is reported if it is broken or is no FHIRPath', async () => {
    expect(await told([ruled('true', 'false', 'use.shout()', 'use = (')], name)).toEqual([
      'error Patient.name[0].extension[0]: This extension may stand only where false (contextInvariant,)',
      'warning Patient.name[0].extension[0]: The rule contextInvariant could not be evaluated: it is no FHIRPath, there is no function shout (line 1, column 5) (http://example.org/mark)',
      expect.stringMatching(/^warning .*: it is no FHIRPath, .* \(line [12], column \d+\) /),
    ])
  })
})

it("rules of R4's own extensions apply, except for one with an inverted condition", async () => {
  const on = (type: string, name: string, value: object): object => ({
    resourceType: 'Questionnaire',
    item: [{ linkId: '1', type, extension: [{ url: `http://hl7.org/fhir/StructureDefinition/${name}`, ...value }] }],
  })
  const errors = async (resource: object): Promise<readonly string[]> => {
    const { issues } = await profileCheckerOf([], EXPRESSIONS)(resource as Resource, [])
    return issues.filter(({ severity }) => severity === 'error').map(({ text }) => text.replace(/ \(.*/, ''))
  }
  const unit = { valueCoding: { system: 'http://unitsofmeasure.org', code: 'kg' } }
  const category = { valueCodeableConcept: { coding: [{ system: 'http://hl7.org/fhir/questionnaire-display-category', code: 'help' }] } }
  expect(await errors(on('decimal', 'questionnaire-unit', unit))).toEqual([])
  expect(await errors(on('string', 'questionnaire-unit', unit))).toEqual([
    "This extension may stand only where type='integer' or type='decimal'",
  ])
  expect(await errors(on('display', 'questionnaire-displayCategory', category))).toEqual([])
})

/** HAPI's validator 8.8.1: `INFORMATION Extension_EXT_Unknown Patient.modifierExtension[0] Unknown extension http://unknown.test/x`, likewise below. */
it.each([
  ['extension', 'Patient.extension[0]', { resourceType: 'Patient' }],
  ['modifierExtension', 'Patient.modifierExtension[0]', { resourceType: 'Patient' }],
  ['modifierExtension', 'Patient.contact[0].modifierExtension[0]', { resourceType: 'Patient', contact: [{ name: { text: 'x' } }] }],
] as const)('an unknown %s at %s is information', async (key, expression, resource) => {
  const unknown = { [key]: [{ url: 'http://unknown.test/x', valueString: 'x' }] }
  const extended = 'contact' in resource ? { ...resource, contact: [{ ...resource.contact[0], ...unknown }] } : { ...resource, ...unknown }
  const { issues } = await profileCheckerOf([])(extended as Resource, [])
  const found = issues.filter((issue) => issue.expression === expression)
  expect(found.map(({ severity, code }) => `${severity} ${code}`)).toEqual(['information not-supported'])
})

describe('errata of R4’s extensions', () => {
  const EXPECTATION = 'capabilitystatement-expectation'
  const errors = async (resource: object): Promise<readonly string[]> => {
    const { issues } = await profileCheckerOf([], EXPRESSIONS)(resource as Resource, [])
    return issues.filter(({ severity }) => severity === 'error').map(({ expression, text }) => `${expression} ${text.replace(/ \(.*/, '')}`)
  }
  const own = (name: string, value: object) => ({ extension: [{ url: `http://hl7.org/fhir/StructureDefinition/${name}`, ...value }] })
  const type = (name: string, value: object) => ({
    resourceType: 'StructureDefinition',
    differential: { element: [{ id: 'Patient.id', path: 'Patient.id', type: [{ code: 'string', ...own(name, value) }] }] },
  })
  const normative = own('structuredefinition-normative-version', { valueCode: '4.0.0' })
  const expectation = own(EXPECTATION, { valueCode: 'SHALL' })

  it.each([
    ['the FHIR type of a type', type('structuredefinition-fhir-type', { valueUrl: 'string' })],
    ['the pattern of a type', type('regex', { valueString: '[a-z]' })],
    ['the normative version of a value set', { resourceType: 'ValueSet', ...normative }],
    ['the normative version of an element', { resourceType: 'StructureDefinition', differential: { element: [{ path: 'Patient', ...normative }] } }],
    ['comments on a concept', { resourceType: 'CodeSystem', concept: [{ code: 'x', ...own('valueset-concept-comments', { valueString: 'x' }) }] }],
    ['the expectation of a format', { resourceType: 'CapabilityStatement', format: ['json'], _format: [expectation] }],
    ['the expectation of a comparator', { resourceType: 'SearchParameter', comparator: ['eq'], _comparator: [expectation] }],
  ])('allow %s', async (_, resource) => {
    expect(await errors(resource)).toEqual([])
  }) // biome-ignore format: a table

  it('allow nothing else', async () => {
    expect(await errors({ resourceType: 'Patient', ...expectation })).toEqual([
      expect.stringMatching(/^Patient\.extension\[0\] This extension may stand only on CapabilityStatement\.rest\.resource\.interaction, /),
    ])
  })
})
