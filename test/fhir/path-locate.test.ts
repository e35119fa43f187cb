/** The locations of a FHIRPath in a resource, which FHIRPath Patch changes. https://hl7.org/fhir/R4/fhirpatch.html */
import { describe, expect, it } from '@jest/globals'
import { jsonMembersOf, locateElements, locateLists } from '../../lambdas/fhir/path/element-location.ts'
import { UnsupportedExpression } from '../../lambdas/fhir/path/tokens.ts'
import type { Resource } from '../../lambdas/fhir/resource.ts'

const name = [{ use: 'official', given: ['Peter', 'James'], _given: [null, { id: 'j' }] }, { use: 'usual' }]
const contained = [{ resourceType: 'Organization', id: 'o', name: 'Clinic' }]
const contact = [{ name: { text: 'a' } }]
const beside = { extension: [{ url: 'http://x/t', valueTime: '08:00:00' }] }
const patient: Resource = { resourceType: 'Patient', contained, name, contact, gender: 'male', _birthDate: beside, deceasedBoolean: false }

describe('the locations of a path', () => {
  it.each([
    ['Patient.gender', { type: 'code', value: 'male', holder: patient, member: 'gender' }],
    ['Patient.deceased', { type: 'boolean', value: false, holder: patient, member: 'deceasedBoolean' }],
    ['Patient.name[1]', { type: 'HumanName', value: name[1], holder: patient, member: 'name', index: 1 }],
    ["Patient.name.where(use = 'usual').use", { type: 'code', value: 'usual', holder: name[1], member: 'use' }],
    ['Patient.name.given.last()', { type: 'string', value: 'James', holder: name[0], member: 'given', index: 1 }],
    ['Patient.contact.name', { type: 'HumanName', value: contact[0]!.name, holder: contact[0], member: 'name' }],
    ['Patient.contact', { type: 'Patient.contact', value: contact[0], holder: patient, member: 'contact', index: 0 }],
    ['Patient.birthDate', { type: 'date', value: undefined, holder: patient, member: 'birthDate' }],
    [
      "Patient.birthDate.extension('http://x/t').value",
      { type: 'time', value: '08:00:00', holder: beside.extension[0], member: 'valueTime' },
    ],
    ['Patient.name.given.id', { type: 'string', value: 'j', holder: name[0]!._given![1], member: 'id' }],
    ['Patient.contained.ofType(Organization).name', { type: 'string', value: 'Clinic', holder: contained[0], member: 'name' }],
    ['Patient', { type: 'Patient', value: patient, member: '' }],
  ])('name the element, its holder and its member: %s', (path, place) => {
    expect(locateElements(path, patient).map(({ parent: _, ...own }) => own)).toEqual([place])
  })

  it('include the locations of the elements around them', () => {
    const [place] = locateElements("Patient.birthDate.extension('http://x/t').value", patient)
    expect([place!.parent!.member, place!.parent!.parent!.member, place!.parent!.parent!.parent!.value]).toEqual([
      'extension',
      'birthDate',
      patient,
    ])
  })

  it('are all that match', () => {
    expect(locateElements('Patient.name.given', patient).map(({ index }) => index)).toEqual([0, 1])
    expect(locateElements('Patient.maritalStatus', patient)).toEqual([])
    expect(locateElements('Observation.status', patient)).toEqual([])
    expect(locateElements('Patient.constructor', patient)).toEqual([])
  })
})

describe('the list of a path', () => {
  it('is found with or without items', () => {
    expect(locateLists('Patient.name', patient)).toEqual([{ type: 'HumanName', holder: patient, member: 'name' }])
    expect(locateLists('Patient.contact[0].telecom', patient)).toEqual([{ type: 'ContactPoint', holder: contact[0], member: 'telecom' }])
  })

  it('does not exist if the element does not repeat', () => {
    expect(locateLists('Patient.gender', patient)).toEqual([])
  })
})

describe('the JSON names of an element', () => {
  it('are several for a choice', () => {
    expect(jsonMembersOf('Patient', 'deceased').map(({ key, type }) => [key, type])).toEqual([
      ['deceasedBoolean', 'boolean'],
      ['deceasedDateTime', 'dateTime'],
    ])
    expect(jsonMembersOf('Patient', 'name')).toEqual([{ key: 'name', type: 'HumanName', list: true }])
    expect(jsonMembersOf('Patient', 'toString')).toEqual([])
  })
})

describe('an expression that is no path', () => {
  it.each([
    '1',
    "'x'",
    'Patient.name | Patient.contact',
    'Patient.name.count()',
    'Patient.name[given]',
    'Patient.name.where()',
    'Patient.name(',
  ])('is rejected: %s', (path) => {
    expect(() => locateElements(path, patient)).toThrow(UnsupportedExpression)
  })
})
