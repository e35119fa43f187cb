/** Tokens of Patients and RelatedPersons: how long they open the data of the patients that these act for. */
import { describe, expect, it } from '@jest/globals'
import { createTestIssuer, SECOND_MS, type TestIssuer } from '../issuing.ts'

const MINUTE = 60 * SECOND_MS
const refused = { status: 401, headers: { 'www-authenticate': expect.stringContaining('error="invalid_token"') } }

const USER = { sub: 'u-1', client_auth: 'none', scope: 'user/*.rs' }
const RELATED = { ...USER, fhirUser: 'RelatedPerson/r', acts_for: ['p'] }
const PATIENT = { ...USER, fhirUser: 'Patient/p' }
const LONG = (it: TestIssuer) => ({ exp: it.now / SECOND_MS + 3_600 })

describe('A token of a person', () => {
  it.each([
    ['a RelatedPerson', RELATED],
    ['a Patient', PATIENT],
    ['a Patient with a base URL', { ...USER, fhirUser: 'https://fhir.example.org/fhir/Patient/p' }],
  ])('is refused five minutes after %s stopped acting for the patient', async (_, claims) => {
    const it = createTestIssuer()
    it.persons.set(claims.fhirUser, ['p'])
    const token = it.token({ ...claims, ...LONG(it) })
    await it.verifyToken(token)
    it.persons.set(claims.fhirUser, [])
    it.now += 5 * MINUTE - 1
    await it.verifyToken(token)
    it.now += 1
    await expect(it.verifyToken(token)).rejects.toMatchObject(refused)
    it.persons.set(claims.fhirUser, ['p'])
    await it.verifyToken(token)
  })

  it('reads the person once in five minutes, for all tokens and requests', async () => {
    const it = createTestIssuer()
    it.persons.set('RelatedPerson/r', ['p'])
    for (let i = 0; i < 3; i++) await it.verifyToken(it.token({ ...RELATED, ...LONG(it) }))
    expect(it.callCounts.persons).toBe(1)
    it.now += 5 * MINUTE
    for (let i = 0; i < 3; i++) await it.verifyToken(it.token(RELATED))
    expect(it.callCounts.persons).toBe(2)
  })

  it('is refused if the RelatedPerson is of another patient, and a newer token is not', async () => {
    const it = createTestIssuer()
    it.persons.set('RelatedPerson/r', ['other'])
    await expect(it.verifyToken(it.token(RELATED))).rejects.toMatchObject(refused)
    await it.verifyToken(it.token({ ...RELATED, acts_for: ['other'] }))
    await expect(it.verifyToken(it.token({ ...RELATED, acts_for: ['p', 'other'] }))).rejects.toMatchObject(refused)
  })

  it('reads the person of each tenant', async () => {
    const it = createTestIssuer({ tenancy: true })
    it.persons.set('RelatedPerson/r', ['p'])
    for (const tenant of ['a', 'b']) await it.verifyToken(it.token({ ...RELATED, tenant }))
    expect(it.callCounts.persons).toBe(2)
  })

  it('is refused if it names patients, but no RelatedPerson of this server', async () => {
    const it = createTestIssuer()
    for (const fhirUser of ['Practitioner/1', 'https://elsewhere.example/fhir/RelatedPerson/r', undefined])
      await expect(it.verifyToken(it.token({ ...RELATED, fhirUser }))).rejects.toMatchObject(refused)
  })

  it('fails with the fault of the store, and works once the store responds', async () => {
    const it = createTestIssuer()
    it.persons.set('RelatedPerson/r', ['p'])
    it.broken.persons = new Error('no store')
    await expect(it.verifyToken(it.token(RELATED))).rejects.toThrow('no store')
    it.broken = {}
    await it.verifyToken(it.token(RELATED))
  })
})

it('other tokens read no person', async () => {
  const it = createTestIssuer()
  for (const claims of [
    {},
    { patient: 'p' },
    { ...USER, fhirUser: 'Practitioner/1', patient: 'p' },
    USER,
    { ...USER, fhirUser: 'RelatedPerson/r' },
  ])
    await it.verifyToken(it.token(claims))
  expect(it.callCounts.persons).toBe(0)
})
