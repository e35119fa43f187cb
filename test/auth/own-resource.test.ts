/** The resource that is the user of a token: what `openid fhirUser` opens of it. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { ruleOfClause } from '../../lambdas/access/rules.ts'
import type { Caller } from './isolation/oracle.ts'
import { BASE_URL, openSite, operatorOf, type Site } from './site.ts'

let site: Site
beforeAll(async () => {
  site = await openSite()
  for (const tenant of ['north', 'south']) {
    for (const type of ['Practitioner', 'Patient'])
      for (const id of ['own', 'other']) await site.ask(operatorOf(tenant), 'PUT', `/${type}/${id}`, { body: { resourceType: type, id } })
    const body = { resourceType: 'RelatedPerson', id: 'own', patient: { reference: 'Patient/other' } }
    await site.ask(operatorOf(tenant), 'PUT', '/RelatedPerson/own', { body })
  }
})
afterAll(() => site.close())

let clients = 0
const user = (fhirUser: string, scopes = 'openid fhirUser'): Caller => ({
  ...{ tenant: 'north', client: `app-${++clients}`, isUser: true, fhirUser, scopes },
  ...(fhirUser.includes('RelatedPerson') ? { actsFor: ['other'] } : {}),
})
const statusOf = async (who: Caller, method: string, target: string, sent?: object) => (await site.ask(who, method, target, sent)).status

it.each(['Practitioner/own', 'Patient/own', 'RelatedPerson/own', `${BASE_URL}/Practitioner/own`])(
  'a token with openid fhirUser reads %s',
  async (fhirUser) => {
    const target = `/${fhirUser.replace(`${BASE_URL}/`, '')}`
    for (const scopes of ['openid fhirUser', 'openid fhirUser patient/Observation.rs', 'openid fhirUser user/Practitioner.s?active=true'])
      expect([scopes, await statusOf(user(fhirUser, scopes), 'GET', target)]).toEqual([scopes, 200])
    expect(await statusOf(user(fhirUser), 'GET', target, { headers: { 'if-none-match': '*' } })).toBe(304)
  },
)

it.each([
  ['GET', '/Practitioner/other', {}],
  ['GET', '/Practitioner/never', {}],
  ['GET', '/Patient/own', {}],
  ['GET', '/Practitioner/own/_history/1', {}],
  ['GET', '/Practitioner/own/_history', {}],
  ['GET', '/Practitioner/own/$meta', {}],
  ['GET', '/Practitioner?_id=own', {}],
  ['GET', '/Practitioner/_history', {}],
  ['DELETE', '/Practitioner/own', {}],
  ['PUT', '/Practitioner/own', { body: { resourceType: 'Practitioner', id: 'own' } }],
])('a token with openid fhirUser opens nothing else: %s %s', async (method, target, sent) =>
  expect(await statusOf(user('Practitioner/own'), method, target, sent)).toBe(403),
)

it.each(['openid', 'fhirUser', 'openid profile', 'patient/Observation.rs'])('a token with %s does not read the user', async (scopes) =>
  expect(await statusOf(user('Practitioner/own', scopes), 'GET', '/Practitioner/own')).toBe(403),
)

it.each(['https://elsewhere.example/fhir/Practitioner/own', 'Observation/own', 'Practitioner/own/_history/1', 'Group/own'])(
  'the fhirUser %s names no resource to read',
  async (fhirUser) => {
    for (const target of ['/Practitioner/own', '/Observation/own', '/Group/own'])
      expect(await statusOf(user(fhirUser), 'GET', target)).toBe(403)
  },
)

it('entries of a Bundle are no plain reads', async () => {
  const entry = [{ request: { method: 'GET', url: 'Practitioner/own' } }]
  const { body } = await site.ask(user('Practitioner/own'), 'POST', '/', { body: { resourceType: 'Bundle', type: 'batch', entry } })
  expect(body.entry[0].response.status).toMatch(/^403/)
})

it('a clause of one resource opens no other of its type', () => {
  const clause = { type: 'Practitioner', letters: ['r'], query: '', id: 'own' } as const
  expect(ruleOfClause(clause, 'Practitioner', { baseUrl: BASE_URL })).toEqual({ kind: 'key', field: '_id:code', oneOf: ['own'] })
})
