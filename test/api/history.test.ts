/** FHIR history: of a resource, a type and everything; windows and pages. Specification 3.2, 4.1, 9. @cloud:here */
import { describe, expect, it } from '@jest/globals'
import { eventually } from '../fixtures/eventually.ts'
import { patient } from '../fixtures/resources.ts'
import { isExternalServer, newId, type Tree, waitForStampAfter, withServer } from './server.ts'

const { get, put, post, patch, delete: remove } = withServer()

const pages = async (path: string): Promise<Tree[][]> => {
  const found: Tree[][] = []
  for (let next: string | undefined = path; next !== undefined; ) {
    const { body }: { body: Tree } = await get(next)
    found.push(body.entry ?? [])
    next = body.link.find(({ relation }: Tree) => relation === 'next')?.url
  }
  return found
}

describe('the history of a resource', () => {
  it('lists all versions, newest first, deletions without content', async () => {
    const id = newId()
    await put(`/Patient/${id}`, patient(id, { active: true }))
    await put(`/Patient/${id}`, patient(id, { active: false }))
    await remove(`/Patient/${id}`)
    await put(`/Patient/${id}`, patient(id))
    const { body } = await get(`/Patient/${id}/_history`)
    expect([body.resourceType, body.type]).toEqual(['Bundle', 'history'])
    expect(
      body.entry.map(({ request, response, resource }: Tree) => [request.method, response.status, response.etag, resource?.meta.versionId]),
    ).toEqual([
      ['PUT', '201', 'W/"4"', '4'],
      ['DELETE', '204', 'W/"3"', undefined],
      ['PUT', '200', 'W/"2"', '2'],
      ['PUT', '201', 'W/"1"', '1'],
    ])
  })
  it('returns the request of each version: direct, conditional, in a batch, in a transaction', async () => {
    const requests = async (id: string) => {
      const { entry } = (await get(`/Patient/${id}/_history`)).body
      return entry.map(({ request, response }: Tree) => `${request.method} ${request.url} ${response.status}`).toReversed()
    }
    const operations = [{ op: 'add', path: '/active', value: true }]
    const [id, value] = [newId(), newId()]
    const search = `Patient?identifier=urn:test|${value}`
    const named = (fields: object = {}) => patient(id, { identifier: [{ system: 'urn:test', value }], ...fields })
    await post('/Patient', named(), { 'if-none-exist': `identifier=urn:test|${value}` })
    await put(`/${search}`, named({ active: true }))
    await patch(`/${search}`, operations)
    await remove(`/${search}`)
    await post('/Patient', named())
    await patch(`/Patient/${id}`, operations)
    await remove(`/Patient/${id}`)
    await put(`/${search}`, named())
    const own = `Patient/${id}`
    expect(await requests(id)).toEqual([
      'POST Patient 201',
      `PUT ${own} 200`,
      `PATCH ${own} 200`,
      `DELETE ${own} 204`,
      'POST Patient 201',
      `PATCH ${own} 200`,
      `DELETE ${own} 204`,
      `PUT ${own} 201`,
    ])
    const binary = { resourceType: 'Binary', contentType: 'application/json-patch+json', data: btoa(JSON.stringify(operations)) }
    for (const type of ['batch', 'transaction']) {
      const [a, b] = [newId(), newId()]
      const bundles = [
        [
          { resource: patient(a), request: { method: 'POST', url: 'Patient' } },
          { resource: patient(b), request: { method: 'PUT', url: `Patient/${b}` } },
        ],
        [
          { resource: patient(a), request: { method: 'PUT', url: `Patient/${a}` } },
          { resource: binary, request: { method: 'PATCH', url: `Patient/${b}` } },
        ],
        [{ request: { method: 'DELETE', url: `Patient/${a}` } }],
      ]
      for (const entry of bundles) expect((await post('/', { resourceType: 'Bundle', type, entry })).status).toBe(200)
      expect(await requests(a)).toEqual(['POST Patient 201', `PUT Patient/${a} 200`, `DELETE Patient/${a} 204`])
      expect(await requests(b)).toEqual([`PUT Patient/${b} 201`, `PATCH Patient/${b} 200`])
    }
  })
  it('is 404 for an unknown resource, and available for a deleted one', async () => {
    const id = newId()
    expect((await get(`/Patient/${id}/_history`)).status).toBe(404)
    await put(`/Patient/${id}`, patient(id))
    await remove(`/Patient/${id}`)
    expect((await get(`/Patient/${id}/_history`)).body.entry).toHaveLength(2)
  })
  it('returns every version once in pages', async () => {
    const id = newId()
    for (let i = 0; i < 7; i++) await put(`/Patient/${id}`, patient(id))
    const found = await pages(`/Patient/${id}/_history?_count=3`)
    expect(found.map((page) => page.map(({ resource }) => Number(resource.meta.versionId)))).toEqual([[7, 6, 5], [4, 3, 2], [1]])
  })
  it('returns only the total for _count=0 and _summary=count', async () => {
    const id = newId()
    const times: string[] = []
    for (let i = 0; i < 3; i++) {
      times.push((await put(`/Patient/${id}`, patient(id))).body.meta.lastUpdated)
      await waitForStampAfter(put, Date.parse(times[i]!))
    }
    for (const [query, total] of [
      ['', 3],
      [`&_since=${times[1]}`, 2],
      [`&_at=${times[1]}`, 1],
    ] as const) {
      for (const none of ['_count=0', '_summary=count', '_summary=count&_count=2']) {
        const { body } = await get(`/Patient/${id}/_history?${none}${query}`)
        expect([none, body.total, body.entry, body.link.map(({ relation }: Tree) => relation)]).toEqual([none, total, undefined, ['self']])
      }
    }
    expect((await get(`/Patient/${newId()}/_history?_count=0`)).status).toBe(404)
    expect((await get('/_history?_count=0')).body.entry).toBeUndefined()
  })
  it('returns total and used size; pages link to the first one', async () => {
    const id = newId()
    for (let i = 0; i < 2; i++) await put(`/Patient/${id}`, patient(id))
    const whole = (await get(`/Patient/${id}/_history?_count=5000&_count=5000`)).body
    expect([whole.total, whole.link.map(({ relation }: Tree) => relation)]).toEqual([2, ['self']])
    expect(whole.link[0].url).toMatch(/\/_history\?_count=1000$/)
    const part = (await get(`/Patient/${id}/_history?_count=1`)).body
    const linked = Object.fromEntries(part.link.map(({ relation, url }: Tree) => [relation, url]))
    expect([part.total, Object.keys(linked), linked.first]).toEqual([undefined, ['self', 'first', 'next'], linked.self])
    expect((await get(linked.next)).body.total).toBeUndefined()
  })
  it('is limited by _since and _at', async () => {
    const id = newId()
    const times: string[] = []
    for (let i = 0; i < 3; i++) {
      times.push((await put(`/Patient/${id}`, patient(id))).body.meta.lastUpdated)
      await waitForStampAfter(put, Date.parse(times[i]!) + 5)
    }
    const versions = async (query: string) =>
      (await get(`/Patient/${id}/_history?${query}`)).body.entry?.map(({ resource }: Tree) => resource.meta.versionId)
    expect(await versions(`_since=${times[1]}`)).toEqual(['3', '2'])
    expect(await versions(`_at=${times[1]}`)).toEqual(['2'])
    // As HAPI's client sends it.
    for (const name of ['_since', '_at'])
      expect(await versions(`${name}=${times[1]!.replace('Z', '+00:00')}`)).toEqual(await versions(`${name}=${times[1]}`))
    expect(await versions(`_at=${new Date(Date.parse(times[1]!) + 5).toISOString()}`)).toEqual(['2'])
    expect(await versions(`_at=${times[0]!.slice(0, 4)}`)).toEqual(['3', '2', '1'])
    expect(await versions('_at=2000')).toBeUndefined()
    expect((await get(`/Patient/${id}/_history?_since=yesterday`)).status).toBe(400)
  })
})

/** Elsewhere than here a history since an instant says until when it shows everything. */
async function shown(path: string, lastUpdated: string): Promise<void> {
  const shownUntil = async (): Promise<string | null> => {
    const { headers } = await get(`${path}?_count=1&_since=${lastUpdated}`)
    expect(headers.has('x-history-until')).toBe(isExternalServer)
    return headers.get('x-history-until')
  }
  await eventually(shownUntil, { until: (instant) => instant === null || Date.parse(instant) > Date.parse(lastUpdated), every: 1_000 })
}

describe('the history of a type and of the system', () => {
  it('returns every version of the type once, newest first', async () => {
    const ids = Array.from({ length: 30 }, newId)
    const since = (await put(`/Basic/${ids[0]}`, { resourceType: 'Basic', id: ids[0], code: { text: 'x' } })).body.meta.lastUpdated
    const written = await Promise.all(ids.slice(1).map((id) => put(`/Basic/${id}`, { resourceType: 'Basic', id, code: { text: 'x' } })))
    await shown(
      '/Basic/_history',
      written
        .map(({ body }) => body.meta.lastUpdated)
        .sort()
        .at(-1),
    )
    const found = await pages(`/Basic/_history?_count=7&_since=${since}`)
    const seen = found.flat().map(({ resource }) => resource.id)
    expect([...seen].sort()).toEqual([...ids].sort())
    const stamps = found.flat().map(({ resource }) => resource.meta.lastUpdated)
    expect(stamps).toEqual([...stamps].sort().reverse())
  })
  it('contains several types in the system history', async () => {
    const id = newId()
    const since = (await put(`/Patient/${id}`, patient(id))).body.meta.lastUpdated
    await shown('/_history', (await put(`/Basic/${id}`, { resourceType: 'Basic', id, code: { text: 'x' } })).body.meta.lastUpdated)
    const found = (await pages(`/_history?_count=1&_since=${since}`))
      .flat()
      .map(({ resource }) => `${resource.resourceType}/${resource.id}`)
    expect(found).toEqual(expect.arrayContaining([`Patient/${id}`, `Basic/${id}`]))
    expect(new Set(found).size).toBe(found.length)
  })
  it('rejects an altered cursor and one of another history', async () => {
    const id = newId()
    for (let i = 0; i < 3; i++) await put(`/Patient/${id}`, patient(id))
    const { body } = await get(`/Patient/${id}/_history?_count=1`)
    const next: string = body.link.find(({ relation }: Tree) => relation === 'next').url
    expect((await get(`${next}x`)).status).toBe(400)
    expect((await get(next.replace(`/Patient/${id}/`, '/Patient/'))).status).toBe(400)
  })
})
