/** What the OpenSearch index makes of 200 where not every copy of a shard did what was asked: an engine that answers as it is told. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { Client } from '@opensearch-project/opensearch'
import { OpenSearchIndex } from '../../../lambdas/adapters/opensearch/search-index.ts'
import { tokenOf } from '../../../lambdas/adapters/opensearch/visibility.ts'
import type { FaultKind } from '../../../lambdas/ports/faults/machine-error.ts'
import { and, type Plan } from '../../../lambdas/ports/search/plan.ts'
import { type AnsweringEngine, startAnsweringEngine } from '../../engines/opensearch-double.ts'

type Shards = { readonly total: number; readonly successful: number; readonly failed: number }

const WHOLE: readonly Shards[] = [
  { total: 2, successful: 2, failed: 0 },
  // A copy that has no node is none that searches ask.
  { total: 2, successful: 1, failed: 0 },
  // No index.
  { total: 0, successful: 0, failed: 0 },
]
const PARTIAL: readonly Shards[] = [
  { total: 2, successful: 1, failed: 1 },
  { total: 2, successful: 0, failed: 2 },
  // Its primary is on no node.
  { total: 2, successful: 0, failed: 0 },
]
const TYPES = ['Observation', 'Patient']
const NAMES = ['fhir-observation-id', 'fhir-patient-id']
const NEXT = 'fhir-patient-v2-id'
const PLAN: Plan = { tenant: 'one', types: ['Patient'], where: and(), access: 'everything', order: [], limit: 10, total: 'none' }

let engine: AnsweringEngine
let client: Client
let index: OpenSearchIndex
/** Of each request that answers about shards, by the last word of its path and the name in it. */
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
  const live = { identity: 'id', types: Object.fromEntries(TYPES.map((type) => [type, 'id'])), lacking: [], former: [] }
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

describe('that each index was refreshed', () => {
  it.each(WHOLE)('is told by %o', async (each) => {
    shards = () => each
    expect(await index.caughtUp(tokens, 0)).toBe(true)
    expect([...asked('_refresh')].sort()).toEqual(NAMES.map((name) => `/${name}/_refresh`))
    await index.show('Patient')
  })

  it.each(PARTIAL)('is not told by %o of one of them: what is asked for is not said to be visible', async (each) => {
    shards = (_, name) => (name === 'fhir-patient-id' ? each : WHOLE[0]!)
    await expect(index.caughtUp(tokens, 0)).rejects.toMatchObject(UNAVAILABLE)
    await expect(index.show('Patient')).rejects.toMatchObject(UNAVAILABLE)
    await index.show('Observation')
  })

  it('is asked again where it was not', async () => {
    const answers = [PARTIAL[0]!]
    shards = () => answers.shift() ?? WHOLE[0]!
    expect(await index.caughtUp(tokens, 0)).toBe(true)
    expect(asked('_refresh')).toHaveLength(3)
  })

  it.each(PARTIAL)('is waited for by a swap: after %o nothing takes the place of the live index', async (each) => {
    shards = () => each
    const rebuild = await index.rebuild('Patient', NEXT)
    await expect(rebuild.swap()).rejects.toMatchObject(UNAVAILABLE)
    expect([asked('_refresh').length, asked('_aliases')]).toEqual([2, []])
  })
})

describe('a search', () => {
  it.each(PARTIAL)('that %o of an index answered is none', async (each) => {
    shards = () => each
    await expect(index.find(PLAN)).rejects.toMatchObject(UNAVAILABLE)
  })

  it.each(PARTIAL)('beside others, of more types than a path takes, too: %o', async (each) => {
    shards = () => each
    const many = Array.from({ length: 31 }, (_, i) => `Type${i}`)
    await expect(index.find({ ...PLAN, types: many })).rejects.toMatchObject(UNAVAILABLE)
    expect(asked('_msearch')).toHaveLength(1)
  })
})
