/** FHIR R4, compartments: which Patient, Encounter, Practitioner, RelatedPerson and Device a resource belongs to. https://hl7.org/fhir/R4/compartmentdefinition.html */
import { describe, expect, it } from '@jest/globals'
import { compartmentsOf } from '../../lambdas/fhir/compartment.ts'
import type { Resource } from '../../lambdas/fhir/resource.ts'

const reference = (to: string) => ({ reference: to })

it('absolute references count only with a base URL of the server', () => {
  const observation = (to: string) => ({ resourceType: 'Observation', subject: reference(to) })
  const here = 'https://here.example/fhir'
  expect(compartmentsOf(observation(`${here}/Patient/1`), { baseUrl: here })).toEqual(['Patient/1'])
  expect(compartmentsOf(observation(`${here}/Patient/1/_history/2`), { baseUrl: here })).toEqual(['Patient/1'])
  expect(compartmentsOf(observation('https://elsewhere.example/fhir/Patient/1'), { baseUrl: here })).toEqual([])
  expect(compartmentsOf(observation(`${here}/Patient/1`))).toEqual([])
  const bases = { baseUrl: 'https://first.example/fhir', otherBases: [here, 'https://third.example/fhir'] }
  for (const base of [bases.baseUrl, ...bases.otherBases])
    expect(compartmentsOf(observation(`${base}/Patient/1`), bases)).toEqual(['Patient/1'])
  for (const base of [`${here}.example`, 'https://elsewhere.example/fhir', `https://elsewhere.example/?${here}`, `${here}/a`])
    expect(compartmentsOf(observation(`${base}/Patient/1`), bases)).toEqual([])
})

describe('a large Group', () => {
  it('is in the compartments of all its members', () => {
    const member = Array.from({ length: 20_000 }, (_, index) => ({ entity: { reference: `Patient/${index}` } }))
    expect(compartmentsOf({ resourceType: 'Group', member })).toHaveLength(20_000)
  })
})

describe('a resource', () => {
  it.each([
    [
      'references by the parameters of the definition',
      {
        resourceType: 'Observation',
        subject: reference('Patient/1'),
        encounter: reference('Encounter/2'),
        performer: [reference('Practitioner/3'), reference('Organization/4')],
      },
      ['Patient/1', 'Encounter/2', 'Practitioner/3'],
    ],
    [
      'two references to one patient, once',
      { resourceType: 'Observation', subject: reference('Patient/1'), performer: [reference('Patient/1')] },
      ['Patient/1'],
    ],
    [
      'the resource itself',
      {
        resourceType: 'Patient',
        id: '1',
        generalPractitioner: [reference('Practitioner/5')],
        link: [{ other: reference('RelatedPerson/2') }],
      },
      ['Patient/1', 'Practitioner/5', 'RelatedPerson/2'],
    ],
    ['a reference to a version', { resourceType: 'Condition', subject: reference('Patient/1/_history/2') }, ['Patient/1']],
    [
      'elements that repeat',
      { resourceType: 'Group', member: [{ entity: reference('Patient/1') }, { entity: reference('Device/2') }] },
      ['Device/2', 'Patient/1'],
    ],
    [
      'none for an absolute URL, a contained resource, a search or a text',
      {
        resourceType: 'Observation',
        subject: reference('http://host/fhir/Patient/1'),
        performer: [reference('#p'), reference('Patient?name=x'), { display: 'Patient/1' }],
      },
      [],
    ],
    [
      'none for values that are no references',
      { resourceType: 'Observation', subject: 'Patient/1', performer: { reference: 5 }, encounter: null },
      [],
    ],
    ...[' ', '/', '/_history/', '|1', '?x', '#x'].map((end): [string, Resource, string[]] => [
      `none, if the reference has a malformed end: "${end}"`,
      { resourceType: 'Observation', subject: reference(`Patient/1${end}`) },
      [],
    ]),
    ['none, if its type has no compartment definition', { resourceType: 'Organization', id: '1', partOf: reference('Organization/2') }, []],
    ['none, if its type is unknown', { resourceType: 'constructor', id: '1' }, []],
  ])('is in its compartments: %s', (_sentence, resource, expected) => {
    expect([...compartmentsOf(resource)].sort()).toEqual([...expected].sort())
  })
})
