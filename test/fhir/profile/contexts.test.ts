/** Where an extension may stand: what its definition allows, and what it does not. https://hl7.org/fhir/R4/defining-extensions.html#context */
import { expect, it } from '@jest/globals'
import type { Resource } from '../../../lambdas/fhir/resource.ts'
import { finding } from '../../fixtures/profiles/checking.ts'

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

/** Type and expression of the context; where the extension may stand; where it may not. */
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

it.each(ROWS)('on %s %s', async (type, expression, allowed, others) => {
  const find = finding([definition(type, expression)])
  const told = async (resource: object): Promise<boolean> => {
    const { issues } = await find(resource as Resource, [])
    return issues.some(({ severity, text }) => severity === 'error' && text.startsWith('This extension may stand only on'))
  }
  for (const resource of allowed) expect([resource, await told(resource)]).toEqual([resource, false])
  for (const resource of others) expect([resource, await told(resource)]).toEqual([resource, true])
})

it('that is said in FHIRPath is told as not checked', async () => {
  const { issues } = await finding([definition('fhirpath', 'name')])(name as Resource, [])
  expect(issues.map(({ severity, code, expression }) => [severity, code, expression])).toContainEqual([
    ...['information', 'not-supported', 'Patient.name[0].extension[0]'],
  ])
})
