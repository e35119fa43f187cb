/** The OpenSearch index with answers of 200 in which copies of shards failed, from a scripted engine. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { Client } from '@opensearch-project/opensearch'
import { OpenSearchIndex } from '../../../lambdas/adapters/opensearch/search-index.ts'
import { tokenOf } from '../../../lambdas/adapters/opensearch/visibility.ts'
import type { FaultKind } from '../../../lambdas/ports/faults.ts'
import { and, type Plan } from '../../../lambdas/ports/search/plan.ts'
import { type AnsweringEngine, startAnsweringEngine } from '../../engines/opensearch-double.ts'

type Shards = { readonly total: number; readonly successful: number; readonly failed: number }

const WHOLE: readonly Shards[] = [
  { total: 2, successful: 2, failed: 0 },
  // Searches do not use a copy that has no node.
  { total: 2, successful: 1, failed: 0 },
  // No index.
  { total: 0, successful: 0, failed: 0 },
]
const PARTIAL: readonly Shards[] = [
  { total: 2, successful: 1, failed: 1 },
  { total: 2, successful: 0, failed: 2 },
  // Its primary has no node.
  { total: 2, successful: 0, failed: 0 },
]
const TYPES = ['Observation', 'Patient']
const NAMES = ['fhir-observation-id', 'fhir-patient-id']
const NEXT = 'fhir-patient-v2-id'
const PLAN: Plan = { tenant: 'one', types: ['Patient'], where: and(), access: 'everything', order: [], limit: 10, total: 'none' }

let engine: AnsweringEngine
let client: Client
let index: OpenSearchIndex
/** Shards in the answer to each request, by the last word of its path and its index name. */
let shards: (action: string, name: string) => Shards

beforeEach(async () => {
  shards = () => WHOLE[0]!
  engine = await startAnsweringEngine(({ method, path, body }) => {
    const [, name = '', action = ''] = /^\/([^/?]*)\/?([^?]*)/.exec(path) ?? []
    if (name === '_mget') return { docs: (JSON.parse(body) as { docs: object[] }).docs.map(() => ({ _version: 1 })) }
    if (name === '_bulk') return { items: [{ index: { status: 200 } }] }
    if (name === '_msearch') return { responses: [{ timed_out: false, hits: { hits: [] }, _shards: shards('_msearch', '') }] }
    if (action === '_refresh') return { _shards: shards(action, name) }
    if (action === '_search') return { timed_out: false, hits: { hits: [] }, _shards: shards(action, name) }
    if (method === 'GET') return { [NEXT]: { aliases: { 'fhir-patient-next-id': {} } } }
    return {}
  })
  client = new Client({ node: engine.endpoint })
  const live = { identity: 'id', types: Object.fromEntries(TYPES.map((type) => [type, { identity: 'id' }])), former: [] }
  index = new OpenSearchIndex(client, { prefix: 'fhir', live: async () => live, attempts: 2, pause: 1 })
})
afterEach(async () => {
  await client.close()
  await engine.close()
})

const tokens = TYPES.map((type) => tokenOf({ tenant: 'one', type, id: '1', version: 1 }))
const asked = (word: string): readonly string[] =>
  engine.requests.filter(({ path }) => path.includes(word)).map(({ path }) => path.split('?')[0]!)
const UNAVAILABLE = { fault: 'unavailable' satisfies FaultKind, kind: 'shards_failed' }

describe('A refresh of each index', () => {
  it.each(WHOLE)('is complete with %o', async (each) => {
    shards = () => each
    expect(await index.caughtUp(tokens, 0)).toBe(true)
    expect([...asked('_refresh')].sort()).toEqual(NAMES.map((name) => `/${name}/_refresh`))
    await index.show('Patient')
  })

  it.each(PARTIAL)('fails if one of them answers %o, and nothing counts as visible', async (each) => {
    shards = (_, name) => (name === 'fhir-patient-id' ? each : WHOLE[0]!)
    await expect(index.caughtUp(tokens, 0)).rejects.toMatchObject(UNAVAILABLE)
    await expect(index.show('Patient')).rejects.toMatchObject(UNAVAILABLE)
    await index.show('Observation')
  })

  it('is repeated if it was incomplete', async () => {
    const answers = [PARTIAL[0]!]
    shards = () => answers.shift() ?? WHOLE[0]!
    expect(await index.caughtUp(tokens, 0)).toBe(true)
    expect(asked('_refresh')).toHaveLength(3)
  })

  it.each(PARTIAL)('is required for a swap: after %o the serving index stays', async (each) => {
    shards = () => each
    const rebuild = await index.rebuild('Patient', NEXT)
    await expect(rebuild.swap()).rejects.toMatchObject(UNAVAILABLE)
    expect([asked('_refresh').length, asked('_aliases')]).toEqual([2, []])
  })
})

describe('a search', () => {
  it.each(PARTIAL)('fails if %o of an index answered', async (each) => {
    shards = () => each
    await expect(index.find(PLAN)).rejects.toMatchObject(UNAVAILABLE)
  })

  it.each(PARTIAL)('also fails within a request for many types: %o', async (each) => {
    shards = () => each
    const many = Array.from({ length: 31 }, (_, i) => `Type${i}`)
    await expect(index.find({ ...PLAN, types: many })).rejects.toMatchObject(UNAVAILABLE)
    expect(asked('_msearch')).toHaveLength(1)
  })
})
