/** The largest shard: of several shards and copies from a scripted engine, and of real indices. */
import { expect, it } from '@jest/globals'
import { Client } from '@opensearch-project/opensearch'
import { OpenSearchIndex } from '../../../lambdas/adapters/opensearch/search-index.ts'
import { document } from '../../contracts/index-document.ts'
import { startAnsweringEngine } from '../../engines/opensearch-double.ts'
import { createTestIndex, runOnOpenSearch } from '../../engines/opensearch-index.ts'
import { runAtEnd } from '../../fixtures/at-end.ts'

const copy = (size_in_bytes: number) => ({ store: { size_in_bytes } })
const ANSWERS = {
  // A replica may be larger than its primary, because it merges by itself.
  copies: { indices: { 'fhir-basic-v1-id': { shards: { 0: [copy(7), copy(9)] } }, 'fhir-patient-v1-id': { shards: { 0: [copy(8)] } } } },
  shards: {
    indices: { 'fhir-basic-v1-id': { shards: { 0: [copy(3)] } }, 'fhir-patient-v2-id': { shards: { 0: [copy(2)], 1: [copy(4)] } } },
  },
  none: {},
}

it.each([
  ['copies', { index: 'fhir-basic-v1-id', bytes: 9 }],
  ['shards', { index: 'fhir-patient-v2-id', bytes: 4 }],
  ['none', undefined],
] as const)('is the largest of all indices: %s', async (name, expected) => {
  const engine = await startAnsweringEngine(() => ANSWERS[name])
  const client = new Client({ node: engine.endpoint })
  runAtEnd(async () => {
    await client.close()
    await engine.close()
  })
  const index = new OpenSearchIndex(client, { prefix: 'fhir', live: async () => ({ identity: 'id', types: {}, former: [] }) })
  expect(await index.largestShard()).toEqual(expected)
  expect(engine.requests.map(({ method, path }) => `${method} ${path.split('?')[0]}`)).toEqual(['GET /fhir-*/_stats/store'])
})

runOnOpenSearch('OpenSearch with shards', (endpoint) => {
  it('names the index with the largest one', async () => {
    const open = createTestIndex(endpoint, { keepsBodies: true })
    runAtEnd(() => open.close())
    expect(await open.index.largestShard()).toBeUndefined()
    const some = (type: string, count: number) =>
      Array.from({ length: count }, (_, i) => document({ type, id: `${i}`, keys: { b: [`x${i}`] } }))
    await open.index.apply([...some('Patient', 1_000), ...some('Basic', 1)])
    await open.client.transport.request({ method: 'POST', path: `/${open.prefix}-*/_flush` })
    const { index, bytes } = (await open.index.largestShard())!
    const path = `/_cat/shards/${open.prefix}-*?format=json&h=index,store&bytes=b&s=store:desc`
    const { body } = await open.client.transport.request({ method: 'GET', path })
    const [first] = body as unknown as readonly { readonly index: string; readonly store: string }[]
    expect([index, bytes]).toEqual([first!.index, Number(first!.store)])
    expect(index).toContain('-patient-')
  })
})
