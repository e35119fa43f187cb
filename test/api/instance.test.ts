/** Specification 4.1, 3.2, 7: read, vread, create, update, delete of one resource. @cloud:here */
import { describe, expect, it } from '@jest/globals'
import { patient } from '../fixtures/resources.ts'
import { isExternalServer, issuesOf, newId, waitForStampAfter, withServer } from './server.ts'

const { get, put, post, send, delete: remove } = withServer()

describe('create', () => {
  it('returns 201 with Location, ETag, Last-Modified and the resource', async () => {
    const id = newId()
    const answer = await post('/Patient', patient(id, { active: true }))
    expect(answer.status).toBe(201)
    expect(answer.headers.get('location')).toMatch(new RegExp(`/Patient/${id}/_history/1$`))
    expect(answer.headers.get('etag')).toBe('W/"1"')
    expect(Date.parse(answer.headers.get('last-modified')!)).toBeGreaterThan(Date.parse('2020'))
    expect(answer.body).toEqual({
      resourceType: 'Patient',
      id,
      active: true,
      meta: { versionId: '1', lastUpdated: expect.stringMatching(/^\d{4}-.*Z$/) },
    })
  })
  it('requires an id', async () => {
    const answer = await post('/Patient', { resourceType: 'Patient', active: true })
    expect([answer.status, issuesOf(answer)]).toEqual([400, ['error required Patient.id']])
  })
  it('rejects an existing id', async () => {
    const id = newId()
    await post('/Patient', patient(id))
    const answer = await post('/Patient', patient(id))
    expect([answer.status, issuesOf(answer)]).toEqual([409, ['error conflict']])
  })
  it.each(['a b', 'a/b', 'ä', 'x'.repeat(65), '', '.', '..'])('rejects the id %j', async (id) => {
    expect((await post('/Patient', patient(id))).status).toBe(400)
  })
  it('ignores versionId and lastUpdated of a client, and keeps other meta', async () => {
    const { body } = await post(
      '/Patient',
      patient(newId(), { meta: { versionId: '77', lastUpdated: '1999-01-01T00:00:00Z', tag: [{ code: 'x' }] } }),
    )
    expect(body.meta.versionId).toBe('1')
    expect(body.meta.lastUpdated > '2020').toBe(true)
    expect(body.meta.tag).toEqual([{ code: 'x' }])
  })
  it('rejects a body of another type than the URL', async () => {
    expect((await post('/Observation', patient(newId()))).status).toBe(400)
  })
  it('continues the history of a deleted resource', async () => {
    const id = newId()
    await post('/Patient', patient(id))
    await remove(`/Patient/${id}`)
    const answer = await post('/Patient', patient(id))
    expect([answer.status, answer.headers.get('etag')]).toEqual([201, 'W/"3"'])
  })
})

describe('read', () => {
  it('returns the resource with its ETag', async () => {
    const id = newId()
    await put(`/Patient/${id}`, patient(id))
    const answer = await get(`/Patient/${id}`)
    expect([answer.status, answer.headers.get('etag'), answer.body.id]).toEqual([200, 'W/"1"', id])
    expect(answer.headers.get('content-type')).toBe('application/fhir+json; charset=utf-8')
  })
  it('returns 404 not-found for an unknown resource, 404 deleted for a deleted one', async () => {
    const id = newId()
    expect(issuesOf(await get(`/Patient/${id}`))).toEqual(['error not-found'])
    await put(`/Patient/${id}`, patient(id))
    await remove(`/Patient/${id}`)
    const answer = await get(`/Patient/${id}`)
    expect([answer.status, issuesOf(answer)]).toEqual([404, ['error deleted']])
  })
  it('returns 304 to a client that has the version', async () => {
    const id = newId()
    const { headers } = await put(`/Patient/${id}`, patient(id))
    expect((await get(`/Patient/${id}`, { 'if-none-match': 'W/"1"' })).status).toBe(304)
    for (const known of ['"1"', '1', '*', 'W/"2", W/"1"', '"of a cache",W/"1"'])
      expect([known, (await get(`/Patient/${id}`, { 'if-none-match': known })).status]).toEqual([known, 304])
    for (const unknown of ['W/"2"', '2', '"of a cache"', 'W/"1-gzip"', 'W/"2", W/"3"'])
      expect([unknown, (await get(`/Patient/${id}`, { 'if-none-match': unknown })).status]).toEqual([unknown, 200])
    expect((await get(`/Patient/${id}`, { 'if-modified-since': headers.get('last-modified')! })).status).toBe(304)
    expect((await get(`/Patient/${id}`, { 'if-modified-since': 'Wed, 01 Jan 2020 00:00:00 GMT' })).status).toBe(200)
  })
  it('returns 200 for If-Modified-Since if a second has several versions', async () => {
    const id = newId()
    const asked = async (since: string, more = {}) => (await get(`/Patient/${id}`, { 'if-modified-since': since, ...more })).status
    let [before, last] = [(await put(`/Patient/${id}`, patient(id))).headers.get('last-modified')!, '']
    for (; before !== last; [before, last] = [last, (await put(`/Patient/${id}`, patient(id))).headers.get('last-modified')!]);
    expect([await asked(last), await asked(last, { 'if-none-match': (await get(`/Patient/${id}`)).headers.get('etag')! })]).toEqual([
      200, 304,
    ])
    await waitForStampAfter(put, Date.parse(last) + 999)
    const next = (await put(`/Patient/${id}`, patient(id))).headers.get('last-modified')!
    expect([next === last, await asked(next)]).toEqual([false, 304])
  })
  it('responds to HEAD as to GET, without a body', async () => {
    const id = newId()
    await put(`/Patient/${id}`, patient(id))
    const answer = await send('HEAD', `/Patient/${id}`)
    expect([answer.status, answer.headers.get('etag'), answer.text]).toEqual([200, 'W/"1"', ''])
    // Behind a gateway the length is that of what the gateway was given, which is nothing.
    if (!isExternalServer) expect(Number(answer.headers.get('content-length'))).toBeGreaterThan(50)
  })
  it('returns 404 for a type outside R4', async () => {
    const answer = await get('/Kangaroo/1')
    expect([answer.status, answer.body.resourceType]).toEqual([404, 'OperationOutcome'])
  })
})

describe('vread', () => {
  it('returns each version as it was', async () => {
    const id = newId()
    await put(`/Patient/${id}`, patient(id, { active: true }))
    await put(`/Patient/${id}`, patient(id, { active: false }))
    const [one, two] = [await get(`/Patient/${id}/_history/1`), await get(`/Patient/${id}/_history/2`)]
    expect([one.body.active, one.body.meta.versionId, one.headers.get('etag')]).toEqual([true, '1', 'W/"1"'])
    expect([two.body.active, two.body.meta.versionId, two.headers.get('etag')]).toEqual([false, '2', 'W/"2"'])
  })
  it('returns 410 for a deletion, 404 for an unknown version', async () => {
    const id = newId()
    await put(`/Patient/${id}`, patient(id))
    await remove(`/Patient/${id}`)
    expect((await get(`/Patient/${id}/_history/2`)).status).toBe(410)
    for (const version of ['3', '0', 'x', '-1', '1.0']) expect((await get(`/Patient/${id}/_history/${version}`)).status).toBe(404)
  })
})

describe('update', () => {
  it('creates with 201, then adds versions with 200', async () => {
    const id = newId()
    const first = await put(`/Patient/${id}`, patient(id))
    const second = await put(`/Patient/${id}`, patient(id))
    expect([first.status, second.status, second.headers.get('etag')]).toEqual([201, 200, 'W/"2"'])
    expect(second.headers.get('location')).toMatch(/_history\/2$/)
    expect(second.body.meta.lastUpdated > first.body.meta.lastUpdated).toBe(true)
  })
  it('requires the id of the URL in the body', async () => {
    const id = newId()
    const refused = (code: string, expression: string) => ({ status: 400, body: { issue: [{ code, expression: [expression] }] } })
    expect(await put(`/Patient/${id}`, { resourceType: 'Patient' })).toMatchObject(refused('required', 'Patient.id'))
    expect(await put(`/Patient/${id}`, patient('other'))).toMatchObject(refused('invalid', 'Patient.id'))
  })
  it.each(['/Patient/1', '/Patient', '/Patient?identifier=1'])(
    'requires a body of the type of the URL, before other checks: PUT %s',
    async (path) => {
      const issue = [{ code: 'invalid', details: { text: expect.stringContaining('type Observation') }, expression: ['resourceType'] }]
      expect(await put(path, { resourceType: 'Observation' })).toMatchObject({ status: 400, body: { issue } })
    },
  )
  it('checks If-Match', async () => {
    const id = newId()
    await put(`/Patient/${id}`, patient(id))
    expect((await put(`/Patient/${id}`, patient(id), { 'if-match': 'W/"2"' })).status).toBe(412)
    expect((await put(`/Patient/${id}`, patient(id), { 'if-match': 'W/"1"' })).status).toBe(200)
    expect((await put(`/Patient/${id}`, patient(id), { 'if-match': 'nonsense' })).status).toBe(400)
    expect((await put(`/Patient/${newId()}`, patient('x'), { 'if-match': 'W/"1"' })).status).toBe(400)
  })
  it('checks lists of tags and *', async () => {
    const id = newId()
    const status = async (name: string, value: string) => (await put(`/Patient/${id}`, patient(id), { [name]: value })).status
    expect(await status('if-match', '*')).toBe(412)
    await put(`/Patient/${id}`, patient(id))
    expect([await status('if-match', '*'), await status('if-match', 'W/"7", W/"2"')]).toEqual([200, 200])
    expect([await status('if-match', 'W/"7", W/"2"'), await status('if-match', '"of-another"')]).toEqual([412, 412])
    for (const broken of ['W/"3", x', '3', '*, W/"3"', '"']) expect([broken, await status('if-match', broken)]).toEqual([broken, 400])
    expect([await status('if-none-match', 'W/"7", W/"3"'), await status('if-none-match', 'W/"7", "8"')]).toEqual([412, 200])
    await remove(`/Patient/${id}`)
    expect(await status('if-match', '*')).toBe(412)
  })
  it('checks If-None-Match: *', async () => {
    const id = newId()
    expect((await put(`/Patient/${id}`, patient(id), { 'if-none-match': '*' })).status).toBe(201)
    expect((await put(`/Patient/${id}`, patient(id), { 'if-none-match': '*' })).status).toBe(412)
  })
  it('restores a deleted resource with 201', async () => {
    const id = newId()
    await put(`/Patient/${id}`, patient(id))
    await remove(`/Patient/${id}`)
    const answer = await put(`/Patient/${id}`, patient(id))
    expect([answer.status, answer.headers.get('etag')]).toEqual([201, 'W/"3"'])
  })
  it('loses none of 50 concurrent updates', async () => {
    const id = newId()
    await put(`/Patient/${id}`, patient(id))
    const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => put(`/Patient/${id}`, patient(id, { multipleBirthInteger: i }))))
    const versions = answers.map(({ body }) => Number(body.meta.versionId)).sort((a, b) => a - b)
    expect(versions).toEqual(Array.from({ length: 50 }, (_, i) => i + 2))
    for (const { body } of answers) expect((await get(`/Patient/${id}/_history/${body.meta.versionId}`)).body).toEqual(body)
  })
})

describe('delete', () => {
  it('returns 204 without a body, also for an unknown resource', async () => {
    const id = newId()
    expect((await remove(`/Patient/${id}`)).status).toBe(204)
    await put(`/Patient/${id}`, patient(id))
    const answer = await remove(`/Patient/${id}`)
    expect([answer.status, answer.text]).toEqual([204, ''])
    expect((await remove(`/Patient/${id}`)).status).toBe(204)
    expect((await get(`/Patient/${id}/_history`)).body.entry).toHaveLength(2)
  })
  it('checks If-Match', async () => {
    const id = newId()
    await put(`/Patient/${id}`, patient(id))
    expect((await remove(`/Patient/${id}`, { 'if-match': 'W/"9"' })).status).toBe(412)
    expect((await remove(`/Patient/${id}`, { 'if-match': 'W/"1"' })).status).toBe(204)
  })
})

describe('Prefer: return', () => {
  it.each([
    ['minimal', ''],
    ['representation', 'Patient'],
    ['OperationOutcome', 'OperationOutcome'],
  ])('determines the body: %s', async (preference, type) => {
    const answer = await post('/Patient', patient(newId()), { prefer: `return=${preference}` })
    expect([answer.status, answer.body?.resourceType ?? '']).toEqual([201, type])
  })
})

describe('a string too long to search', () => {
  it('is stored, with a warning that names it', async () => {
    const id = newId()
    const family = 'x'.repeat(8001)
    const answer = await put(`/Patient/${id}`, patient(id, { name: [{ given: ['a'] }, { family }] }), { prefer: 'return=minimal' })
    expect([answer.status, issuesOf(answer)]).toEqual([201, ['warning value Patient.name[1].family']])
    expect(answer.body.issue[0].details.text).toContain('8000')
    expect((await get(`/Patient/${id}`)).body.name[1].family).toBe(family)
    expect((await get(`/Patient?_id=${id}&family=${'x'.repeat(100)}`)).body.total).toBe(0)
  })
  it('causes no warning if no search parameter covers it', async () => {
    const id = newId()
    const answer = await put(
      `/Patient/${id}`,
      patient(id, { text: { status: 'generated', div: `<div xmlns="http://www.w3.org/1999/xhtml">${'x'.repeat(9000)}</div>` } }),
    )
    expect(answer.body.resourceType).toBe('Patient')
  })
})
