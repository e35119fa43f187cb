import { expect, it } from '@jest/globals'
import { userPatientsOf } from '../../lambdas/access/user-patients.ts'
import { BASE_URL } from './issuing.ts'

it.each([
  [undefined, undefined],
  ['Practitioner/1', undefined],
  [`${BASE_URL}/Practitioner/1`, undefined],
  ['https://elsewhere.example/fhir/PractitionerRole/1', []],
  [`${BASE_URL}.elsewhere.example/Practitioner/1`, []],
  ['Patient/Practitioner/1', []],
  ['/Practitioner/1', []],
  ['Patient/1', ['Patient/1']],
  [`${BASE_URL}/Patient/1`, ['Patient/1']],
  ['https://elsewhere.example/fhir/Patient/1', []],
  ['RelatedPerson/1', ['Patient/cared-for']],
  [`${BASE_URL}/RelatedPerson/1`, ['Patient/cared-for']],
  ['https://elsewhere.example/fhir/RelatedPerson/1', []],
  ['Person/1', []],
  ['Patient/1/_history/2', []],
  ['Patient/a_b', []],
  ['patient/1', []],
  ['Patient', []],
  ['Practitioner/', []],
  ['nonsense', []],
  ['', []],
])('a user with the fhirUser %s acts for %j', (fhirUser, patients) => {
  expect(userPatientsOf(fhirUser, ['cared-for'], { baseUrl: BASE_URL }).actsFor).toEqual(patients)
})

it.each(['https://api.example.org/fhir', BASE_URL])('a fhirUser with the base URL %s is a user of this server', (base) => {
  const bases = { baseUrl: 'https://api.example.org/fhir', otherBases: [BASE_URL] }
  expect(userPatientsOf(`${base}/Patient/1`, [], bases)).toEqual({ actsFor: ['Patient/1'] })
  expect(userPatientsOf(`${base}/Practitioner/1`, [], bases)).toEqual({})
})

it('a RelatedPerson without stated patients acts for none', () =>
  expect(userPatientsOf('RelatedPerson/1', undefined, { baseUrl: BASE_URL })).toEqual({ actsFor: [] }))
