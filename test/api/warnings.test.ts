/** Warnings of what is stored all the same: of long strings always told, of others to who asks. Specification 2.5, 4.2, 7, 8 @cloud:here */
import { describe, expect, it } from '@jest/globals'
import { patient } from '../fixtures/resources.ts'
import { issuesOf, newId, type Tree, withServer } from './server.ts'

const { get, put, post, patch } = withServer()

const LONG = 'x'.repeat(8_001)
const name = [{ family: LONG, given: ['a', LONG] }]
const WARNINGS = ['warning value Patient.name[0].family', 'warning value Patient.name[0].given[1]']
const PREFERENCES = ['minimal', 'representation', 'OperationOutcome'] as const
const bundle = (type: string, ...entry: readonly Tree[]): Tree => ({ resourceType: 'Bundle', type, entry })
const entry = (method: string, url: string, resource: Tree): Tree => ({ request: { method, url }, resource })
const patchOf = (operations: readonly Tree[]): Tree => ({
  ...{ resourceType: 'Binary', contentType: 'application/json-patch+json' },
  data: Buffer.from(JSON.stringify(operations)).toString('base64'),
})

describe('a warning about a string too long to search', () => {
  it.each(PREFERENCES)('is returned for each element and kind of write, with return=%s', async (preference) => {
    const headers = { prefer: `return=${preference}` }
    const [one, two] = [newId(), newId()]
    const add = [{ op: 'add', path: '/name', value: name }]
    const answers = [
      await post('/Patient', patient(one, { name }), headers),
      await put(`/Patient/${two}`, patient(two), headers).then(() => put(`/Patient/${two}`, patient(two, { name }), headers)),
      await patch(`/Patient/${two}`, add, headers),
      await put(`/Patient?_id=${two}`, patient(two, { name }), headers),
    ]
    expect(answers.map((answer) => [answer.status, issuesOf(answer)])).toEqual([201, 200, 200, 200].map((status) => [status, WARNINGS]))
  })
  it.each(['batch', 'transaction'])('is returned beside the resource, by each entry of a %s', async (type) => {
    const [one, two, three] = [newId(), newId(), newId()]
    await put(`/Patient/${two}`, patient(two))
    const entries = [
      entry('POST', 'Patient', patient(one, { name })),
      entry('PUT', `Patient/${three}`, patient(three)),
      entry('PATCH', `Patient/${two}`, patchOf([{ op: 'add', path: '/name', value: name }])),
    ]
    const { body } = await post('/', bundle(type, ...entries), { prefer: 'return=representation' })
    const outcomes = body.entry.map(({ response }: Tree) => (response.outcome?.issue ?? []).map(({ expression }: Tree) => expression[0]))
    const places = ['Patient.name[0].family', 'Patient.name[0].given[1]']
    expect(outcomes).toEqual([places, [], places])
    expect(body.entry.map(({ resource }: Tree) => resource?.name?.[0].family)).toEqual([LONG, undefined, LONG])
    expect(body.entry.map(({ response }: Tree) => response.status)).toEqual(['201 Created', '201 Created', '200 OK'])
  })
})

describe('a warning about an unused SearchParameter', () => {
  const parameter = (id: string): Tree => ({
    ...{ resourceType: 'SearchParameter', id, url: `urn:${id}`, name: 'own', status: 'active', description: 'x' },
    ...{ code: 'family', base: ['Patient'], type: 'string', expression: 'Patient.name.given' },
  })
  const TOLD = ['warning business-rule SearchParameter.code']
  it('is returned only for return=OperationOutcome', async () => {
    const id = newId()
    const types: unknown[] = []
    for (const preference of PREFERENCES) {
      const answer = await put(`/SearchParameter/${id}`, parameter(id), { prefer: `return=${preference}` })
      types.push(answer.body?.resourceType)
      if (preference === 'OperationOutcome') expect(issuesOf(answer)).toEqual(TOLD)
    }
    expect(types).toEqual([undefined, 'SearchParameter', 'OperationOutcome'])
  })
  it.each([
    [{ code: '_id', base: ['Resource'] }, 'Resource has'],
    [{ code: 'status', base: ['Encounter', 'Patient', 'Observation'] }, 'Encounter, Observation have'],
  ])('is returned once, with the types: %j', async (more, expected) => {
    const { body } = await post('/SearchParameter/$validate', { ...parameter('x'), ...more })
    const told = body.issue.flatMap(({ code, details }: Tree) => (code === 'business-rule' ? [details.text] : []))
    expect(told).toEqual([`${expected} a search parameter of this code already, which stays what it is`])
  })
  it('names parts of the expression that have no values', async () => {
    const more = { code: 'own', base: ['Patient'], expression: 'Patient.name.given | Patient.nmae.given' }
    const { body } = await post('/SearchParameter/$validate', { ...parameter('x'), ...more })
    const told = body.issue.flatMap(({ code, details }: Tree) => (code === 'business-rule' ? [details.text] : []))
    expect(told).toEqual([expect.stringMatching(/has no values on any base, .*: Patient\.nmae\.given$/)])
  })
  it('is returned in a Bundle and by $validate', async () => {
    const id = newId()
    const { body } = await post('/', bundle('batch', entry('PUT', `SearchParameter/${id}`, parameter(id))))
    expect(body.entry[0].response.outcome.issue[0]).toMatchObject({ severity: 'warning', expression: ['SearchParameter.code'] })
    expect(issuesOf(await get(`/SearchParameter/${id}/$validate`))).toEqual(expect.arrayContaining(TOLD))
  })
})

it('an active Subscription is stored as requested, with a warning on request', async () => {
  const of = (id: string, status = 'active') => ({
    ...{ resourceType: 'Subscription', id, status, reason: 'x', criteria: 'Observation?status=final' },
    channel: { type: 'rest-hook', endpoint: 'http://a.example' },
  })
  const asks = { prefer: 'return=OperationOutcome' }
  const [one, two, off] = [newId(), newId(), newId()]
  const plain = await post('/Subscription', of(one))
  expect([plain.status, plain.body.resourceType, plain.body.status]).toEqual([201, 'Subscription', 'requested'])
  const told = ['warning not-supported Subscription.status']
  expect(issuesOf(await put(`/Subscription/${one}`, of(one), asks))).toEqual(told)
  expect(issuesOf(await patch(`/Subscription/${one}`, [{ op: 'replace', path: '/status', value: 'active' }], asks))).toEqual(told)
  const { body } = await post('/', bundle('batch', entry('PUT', `Subscription/${two}`, of(two))))
  expect(body.entry[0].response.outcome.issue[0].expression).toEqual(['Subscription.status'])
  for (const id of [one, two]) expect((await get(`/Subscription/${id}`)).body.status).toBe('requested')
  expect(issuesOf(await put(`/Subscription/${off}`, of(off, 'off'), asks))).toEqual(['information informational'])
  expect((await get(`/Subscription/${off}`)).body.status).toBe('off')
})
