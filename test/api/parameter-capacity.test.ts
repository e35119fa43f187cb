/** All tenants of a server share the index fields for custom search parameters. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { EmbeddedServer } from '../../lambdas/runtime/embedded/server.ts'
import { clientOf, issuesOf, startServer, type TestClient, type Tree } from './server.ts'

let embedded: EmbeddedServer
let base: string
beforeAll(async () => {
  const started = await startServer({ FHIR_ACCESS: 'token', FHIR_TENANCY: 'on' })
  embedded = started.embedded
  base = started.base
})
afterAll(() => embedded.close())

async function clientFor(tenant: string): Promise<TestClient> {
  const token = await embedded.issue({ isAdministrator: true, tenant })
  return clientOf(
    () => base,
    () => token,
  )
}

const parameter = (id: string): Tree => ({
  resourceType: 'SearchParameter', id, url: `urn:${id}`, name: id, description: 'x', status: 'active',
  code: id, base: ['Slot'], type: 'token', expression: 'Slot.identifier',
}) // biome-ignore format: one resource

const transaction = (resources: readonly Tree[]): Tree => ({
  resourceType: 'Bundle',
  type: 'transaction',
  entry: resources.map((resource) => ({ resource, request: { method: 'PUT', url: `SearchParameter/${resource.id}` } })),
})

it('A definition that does not fit into the index is rejected with the fields that are left', async () => {
  const [north, south, west] = [await clientFor('north'), await clientFor('south'), await clientFor('west')]
  for (const [client, name] of [
    [north, 'north'],
    [south, 'south'],
  ] as const) {
    const resources = Array.from({ length: 187 }, (_, i) => parameter(`${name}-${i}`))
    expect((await client.post('/', transaction(resources))).status).toBe(200)
  }
  // Parameters that are still being built use capacity too.
  for (const client of [north, south]) await client.get('/$reindex-status')
  expect((await west.put('/SearchParameter/west-0', parameter('west-0'))).status).toBe(201)
  const refused = await west.put('/SearchParameter/west-1', parameter('west-1'))
  expect([refused.status, issuesOf(refused), refused.body.issue[0].diagnostics ?? refused.body.issue[0].details.text]).toEqual([
    422,
    ['error too-costly SearchParameter.base'],
    'The parameter needs 8 index fields on Slot. 0 of 3000 are left for all tenants together',
  ])
  expect((await west.get('/SearchParameter/west-1')).status).toBe(404)
  expect((await north.put('/SearchParameter/north-0', { ...parameter('north-0'), description: 'y' })).status).toBe(200)
})
