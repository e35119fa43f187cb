/** The patients that a user acts for: in tokens, and among the patients to choose from. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { User } from '../../lambdas/ports/rows/users.ts'
import { BASE_URL, openSite, operatorOf, type Site } from './site.ts'

let site: Site
beforeAll(async () => {
  site = await openSite()
  for (const id of ['own', 'other']) await site.ask(operatorOf('north'), 'PUT', `/Patient/${id}`, { body: { resourceType: 'Patient', id } })
})
afterAll(() => site.close())

const userOf = (fhirUser: string): User => ({
  ...{ name: 'ann', subject: 's-1', password: '', scopes: ['patient/*.rs'], tenants: ['north'], changedAt: 0, fhirUser },
})

const patientsOf = ({ fhirUser }: User, tenant = 'north') => site.patientsOf(fhirUser!, tenant)

let persons = 0
async function person(more: object): Promise<User> {
  const id = `person-${++persons}`
  const body = { resourceType: 'RelatedPerson', id, patient: { reference: 'Patient/own' }, ...more }
  expect((await site.ask(operatorOf('north'), 'PUT', `/RelatedPerson/${id}`, { body })).status).toBe(201)
  return userOf(`RelatedPerson/${id}`)
}

it.each([
  ['the patient', {}, ['own']],
  ['a patient with the base URL of the server', { patient: { reference: `${BASE_URL}/Patient/own` } }, ['own']],
  ['no patient of another server', { patient: { reference: 'https://elsewhere.example/fhir/Patient/own' } }, []],
  ['no patient that has only a display', { patient: { display: 'own' } }, []],
  ['no patient while inactive', { active: false }, []],
  ['no patient after the period', { period: { start: '2001', end: '2002' } }, []],
  ['no patient before the period', { period: { start: '2999' } }, []],
  ['the patient within the period', { period: { start: '2001', end: '2999' } }, ['own']],
])('a RelatedPerson cares for %s', async (_, more, expected) => {
  const user = await person(more)
  expect(await patientsOf(user)).toEqual(expected)
  expect((await site.patients.find(user, ['north'], '')).map(({ id }) => id)).toEqual(expected)
  expect(await site.patients.get(user, ['north'], 'other')).toBeUndefined()
})

it('a RelatedPerson cares for no patient of another tenant, or once deleted', async () => {
  const user = await person({})
  expect(await patientsOf(user, 'south')).toEqual([])
  await site.ask(operatorOf('north'), 'DELETE', `/${user.fhirUser}`)
  expect(await patientsOf(user)).toEqual([])
  expect(await patientsOf(userOf('RelatedPerson/never'))).toEqual([])
})

it('a Patient acts for itself, also before it is stored, until it is deleted', async () => {
  const user = userOf('Patient/passing')
  expect(await patientsOf(user)).toEqual(['passing'])
  await site.ask(operatorOf('north'), 'PUT', '/Patient/passing', { body: { resourceType: 'Patient', id: 'passing' } })
  for (const fhirUser of [user.fhirUser!, `${BASE_URL}/${user.fhirUser}`]) expect(await patientsOf(userOf(fhirUser))).toEqual(['passing'])
  await site.ask(operatorOf('north'), 'DELETE', '/Patient/passing')
  expect(await patientsOf(user)).toEqual([])
})

it.each(['Practitioner/1', 'Person/1', 'https://elsewhere.example/fhir/Patient/own', 'nonsense'])(
  '%s has no list of patients',
  async (fhirUser) => {
    expect(await patientsOf(userOf(fhirUser))).toBeUndefined()
  },
)

it.each([
  ['Practitioner/1', ['other', 'own']],
  ['Patient/own', ['own']],
  [`${BASE_URL}/Patient/own`, ['own']],
  ['Person/own', []],
])('%s may choose from %j', async (fhirUser, expected) => {
  expect((await site.patients.find(userOf(fhirUser), ['north'], '')).map(({ id }) => id).sort()).toEqual(expected)
})
