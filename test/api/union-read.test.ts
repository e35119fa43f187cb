/** Reads with a token that opens all tenants, without X-Tenant-Id. @cloud:here */
import { expect, it } from '@jest/globals'
import { patient } from '../fixtures/resources.ts'
import { issuesOf, newId, withServer } from './server.ts'

const client = withServer({ FHIR_TENANCY: 'on', FHIR_CLIENT_IDS: 'optional' })
const { get, put } = client

const inTenant = (tenant: string) => ({ 'x-tenant-id': tenant })

it('A read shows the resource of the only tenant that has it', async () => {
  const id = newId()
  expect((await get(`/Patient/${id}`)).status).toBe(404)
  for (const tenant of ['north', 'south']) await put(`/Basic/${newId()}`, { resourceType: 'Basic', code: { text: 'x' } }, inTenant(tenant))
  await put(`/Patient/${id}`, patient(id, { gender: 'female' }), inTenant('south'))
  const { status, body, headers } = await get(`/Patient/${id}`)
  expect([status, body.gender]).toEqual([200, 'female'])
  expect((await get(`/Patient/${id}`, { 'if-none-match': headers.get('etag')! })).status).toBe(304)
  expect((await get(`/Patient/${id}`, inTenant('north'))).status).toBe(404)
})

it('A read asks for X-Tenant-Id if several tenants have the resource', async () => {
  const id = newId()
  for (const tenant of ['north', 'south']) await put(`/Patient/${id}`, patient(id), inTenant(tenant))
  const answer = await get(`/Patient/${id}`)
  expect([answer.status, issuesOf(answer)]).toEqual([400, ['error required']])
  await client.delete(`/Patient/${id}`, inTenant('north'))
  expect((await get(`/Patient/${id}`)).status).toBe(200)
  await client.delete(`/Patient/${id}`, inTenant('south'))
  const gone = await get(`/Patient/${id}`)
  expect([gone.status, issuesOf(gone)]).toEqual([404, ['error deleted']])
})

it('A read of a resource that moved to another tenant is never 304', async () => {
  const id = newId()
  const statuses = async (): Promise<readonly number[]> => {
    const headers = [{ 'if-none-match': 'W/"1"' }, { 'if-modified-since': 'Fri, 01 Jan 2100 00:00:00 GMT' }]
    return (await Promise.all(headers.map((each) => get(`/Patient/${id}`, each)))).map(({ status }) => status)
  }
  await put(`/Patient/${id}`, patient(id), inTenant('north'))
  expect(await statuses()).toEqual([304, 304])
  await client.delete(`/Patient/${id}`, inTenant('north'))
  await put(`/Patient/${id}`, patient(id), inTenant('south'))
  expect(await statuses()).toEqual([200, 200])
})

it.each(['/Patient/a_b', '/Nothing/x'])('A read of %s is answered as in one tenant', async (path) => {
  const [several, one] = [await get(path), await get(path, inTenant('default'))]
  expect([several.status, issuesOf(several)]).toEqual([one.status, issuesOf(one)])
})

it('All other requests ask for X-Tenant-Id', async () => {
  const statuses: number[] = []
  for (const path of ['/Patient', '/Patient/x/_history/1', '/Patient/x/_history', '/_history', '/metadata'])
    statuses.push((await get(path)).status)
  for (const path of ['/Patient/x/$everything', '/Patient/x/$meta']) statuses.push((await get(path)).status)
  statuses.push((await put('/Patient/x', patient('x'))).status)
  const entry = [{ request: { method: 'GET', url: 'Patient/x' } }]
  statuses.push((await client.post('/', { resourceType: 'Bundle', type: 'batch', entry })).status)
  expect(statuses).toEqual([400, 400, 400, 400, 400, 422, 422, 422, 422])
})
