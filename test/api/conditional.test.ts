/** Specification 4.1: conditional create, update, patch and delete. @cloud */
import { describe, expect, it } from '@jest/globals'
import { patient } from '../fixtures/resources.ts'
import { issuesOf, newId, withServer } from './server.ts'

const { get, put, post, patch, delete: remove } = withServer()

const identified = (id: string | undefined, value: string, more = {}) => ({
  resourceType: 'Patient',
  ...(id === undefined ? {} : { id }),
  identifier: [{ system: 'urn:test', value }],
  ...more,
})

describe('If-None-Exist', () => {
  it('creates without a match, returns 200 for one match and 412 for several', async () => {
    const value = newId()
    const [a, b] = [newId(), newId()]
    const header = { 'if-none-exist': `identifier=urn:test|${value}` }
    expect((await post('/Patient', identified(a, value), header)).status).toBe(201)
    const again = await post('/Patient', identified(b, value), header)
    expect([again.status, again.body.id, again.headers.get('etag')]).toEqual([200, a, 'W/"1"'])
    expect(again.headers.get('location')).toMatch(new RegExp(`Patient/${a}/_history/1$`))
    await put(`/Patient/${b}`, identified(b, value))
    const several = await post('/Patient', identified(newId(), value), header)
    expect([several.status, issuesOf(several)]).toEqual([412, ['error multiple-matches']])
  })
  it('creates one resource for 20 concurrent requests', async () => {
    const value = newId()
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => post('/Patient', identified(newId(), value), { 'if-none-exist': `identifier=urn:test|${value}` })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(19).fill(200), 201])
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1)
    expect((await get(`/Patient?identifier=urn:test|${value}`)).body.total).toBe(1)
  })
  it('creates again after the match was deleted or changed', async () => {
    const value = newId()
    const header = { 'if-none-exist': `identifier=urn:test|${value}` }
    const [a, b, c] = [newId(), newId(), newId()]
    await post('/Patient', identified(a, value), header)
    await remove(`/Patient/${a}`)
    expect((await post('/Patient', identified(b, value), header)).status).toBe(201)
    await put(`/Patient/${b}`, identified(b, 'other'))
    expect((await post('/Patient', identified(c, value), header)).status).toBe(201)
  })
  it('accepts a whole search URL of the type on this server', async () => {
    const value = newId()
    const criteria = `identifier=urn:test|${value}`
    const serverUrl = (await put(`/Patient/${value}`, patient(value))).headers.get('location')!.split('/Patient/')[0]
    const asked = [criteria, `?${criteria}`, `Patient?${criteria}`, `/Patient?${criteria}`, `${serverUrl}/Patient?${criteria}`]
    const first = newId()
    for (const each of asked) {
      const answer = await post('/Patient', identified(each === criteria ? first : newId(), value), { 'if-none-exist': each })
      expect([each, answer.status, answer.body.id]).toEqual([each, each === criteria ? 201 : 200, first])
    }
    for (const each of [`Practitioner?${criteria}`, `http://a.example/fhir/Patient?${criteria}`])
      expect([each, (await post('/Patient', patient(newId()), { 'if-none-exist': each })).status]).toEqual([each, 400])
    const [entry] = (
      await post('/', {
        ...{ resourceType: 'Bundle', type: 'transaction' },
        entry: [{ resource: identified(newId(), value), request: { method: 'POST', url: 'Patient', ifNoneExist: `Patient?${criteria}` } }],
      })
    ).body.entry
    expect(entry.response.status).toBe('200 OK')
  })
  it.each(['', 'nonsense=1', '_count=1', 'identifier=', 'birthdate=x'])('rejects the criteria %j', async (criteria) => {
    expect((await post('/Patient', patient(newId()), { 'if-none-exist': criteria })).status).toBe(400)
  })
})

describe('update by search', () => {
  it('creates without a match, with the id of the body or a new one', async () => {
    const [value, id] = [newId(), newId()]
    const own = await put(`/Patient?identifier=urn:test|${value}`, identified(id, value))
    expect([own.status, own.body.id]).toEqual([201, id])
    const other = newId()
    const chosen = await put(`/Patient?identifier=urn:test|${other}`, identified(undefined, other))
    expect(chosen.status).toBe(201)
    expect(chosen.body.id).toMatch(/^[0-9a-f-]{36}$/)
  })
  it('returns 422 without a match if the id exists', async () => {
    const id = newId()
    await put(`/Patient/${id}`, patient(id))
    expect((await put(`/Patient?identifier=urn:test|${newId()}`, patient(id))).status).toBe(422)
  })
  it('updates the single match, whatever id the body has', async () => {
    const [value, id] = [newId(), newId()]
    await put(`/Patient/${id}`, identified(id, value))
    for (const body of [
      identified(id, value, { active: true }),
      identified(undefined, value, { active: false }),
      identified('another', value),
    ]) {
      const answer = await put(`/Patient?identifier=urn:test|${value}`, body)
      expect([answer.status, answer.body.id]).toEqual([200, id])
    }
    expect((await get(`/Patient/${id}`)).body.meta.versionId).toBe('4')
  })
  it('returns 412 for several matches', async () => {
    const value = newId()
    for (const id of [newId(), newId()]) await put(`/Patient/${id}`, identified(id, value))
    expect((await put(`/Patient?identifier=urn:test|${value}`, identified(undefined, value))).status).toBe(412)
  })
  it('creates one resource for 10 concurrent requests', async () => {
    const value = newId()
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => put(`/Patient?identifier=urn:test|${value}`, identified(undefined, value))),
    )
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
    expect((await get(`/Patient?identifier=urn:test|${value}`)).body.total).toBe(1)
  })
  it('returns 400 without criteria, for unknown ones and for result parameters', async () => {
    for (const query of ['', '?', '?nonsense=1', '?_sort=name', '?_summary=count'])
      expect((await put(`/Patient${query}`, patient(newId()))).status).toBe(400)
  })
})

it('conditional interactions accept formats beside criteria, but not as criteria', async () => {
  const [value, id] = [newId(), newId()]
  const query = `identifier=urn:test|${value}&_format=json&_pretty=true`
  expect((await put(`/Patient?${query}`, identified(id, value))).status).toBe(201)
  expect((await post('/Patient', identified(newId(), value), { 'if-none-exist': query })).status).toBe(200)
  expect((await patch(`/Patient?${query}`, [{ op: 'add', path: '/active', value: true }])).status).toBe(200)
  const reference = { reference: `Patient?${query}` }
  const referring = await put(`/Basic/${id}`, { resourceType: 'Basic', id, code: { text: 'x' }, subject: reference })
  expect(referring.body.subject).toEqual({ reference: `Patient/${id}` })
  expect((await remove(`/Patient?${query}`)).status).toBe(204)
  expect((await get(`/Patient/${id}`)).status).toBe(404)
  for (const alone of ['_format=json', '_pretty=true']) {
    expect((await put(`/Patient?${alone}`, identified(id, value))).status).toBe(400)
    expect((await remove(`/Patient?${alone}`)).status).toBe(400)
  }
})

it('concurrent updates with the same criteria create one resource, whatever the format', async () => {
  const value = newId()
  const query = `identifier=urn:test|${value}`
  const asked = (i: number) => put(`/Patient?${query}${i % 2 === 0 ? '' : '&_format=json'}`, identified(newId(), value))
  const answers = await Promise.all(Array.from({ length: 6 }, (_, i) => asked(i)))
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
})

describe('patch and delete by search', () => {
  it('patch returns 404 without a match, 200 with one, 412 with several', async () => {
    const [value, a, b] = [newId(), newId(), newId()]
    const operations = [{ op: 'add', path: '/active', value: true }]
    expect((await patch(`/Patient?identifier=urn:test|${value}`, operations)).status).toBe(404)
    await put(`/Patient/${a}`, identified(a, value))
    const answer = await patch(`/Patient?identifier=urn:test|${value}`, operations)
    expect([answer.status, answer.body.active]).toEqual([200, true])
    await put(`/Patient/${b}`, identified(b, value))
    expect((await patch(`/Patient?identifier=urn:test|${value}`, operations)).status).toBe(412)
  })
  it('delete returns 204 for no match and for one, 412 for several', async () => {
    const [value, a, b] = [newId(), newId(), newId()]
    expect((await remove(`/Patient?identifier=urn:test|${value}`)).status).toBe(204)
    for (const id of [a, b]) await put(`/Patient/${id}`, identified(id, value))
    expect((await remove(`/Patient?identifier=urn:test|${value}`)).status).toBe(412)
    await remove(`/Patient/${b}`)
    expect((await remove(`/Patient?identifier=urn:test|${value}`)).status).toBe(204)
    expect((await get(`/Patient/${a}`)).status).toBe(404)
  })
  it('reject missing and unknown criteria', async () => {
    expect((await remove('/Patient')).status).toBe(400)
    expect((await remove('/Patient?nonsense=1')).status).toBe(400)
  })
})
