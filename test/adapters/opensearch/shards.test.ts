/** The OpenSearch index with answers of 200 in which copies of shards failed, from a scripted engine. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { Client } from '@opensearch-project/opensearch'
import { OpenSearchIndex } from '../../../lambdas/adapters/opensearch/search-index.ts'
import { tokenOf } from '../../../lambdas/adapters/opensearch/visibility.ts'
import type { FaultKind } from '../../../lambdas/ports/faults.ts'
import { and, type Plan } from '../../../lambdas/ports/search/plan.ts'
import { document } from '../../contracts/index-document.ts'
import { type AnsweringEngine, startAnsweringEngine } from '../../engines/opensearch-double.ts'

type Shards = { readonly total: number; readonly successful: number; readonly failed: number }
/** Copies of each shard: their states, the primary first. */
type Copies = readonly (readonly string[])[]

const STARTED: Copies = [
  ['STARTED', 'STARTED'],
  ['RELOCATING', 'STARTED'],
]
const LACKING_A_COPY: Copies = [['STARTED', 'STARTED'], ['STARTED']]

/** Answers to a refresh of an index with two shards, each with a replica, and its copies at that time. */
type Refresh = readonly [of: string, shards: Shards, copies: Copies]

const WHOLE: readonly Refresh[] = [
  ['all copies', { total: 4, successful: 4, failed: 0 }, STARTED],
  // Searches use none of these copies.
  ['all but a copy without a node', { total: 4, successful: 3, failed: 0 }, LACKING_A_COPY],
  [
    'all but a copy that is being filled',
    { total: 4, successful: 3, failed: 0 },
    [
      ['STARTED', 'INITIALIZING'],
      ['STARTED', 'STARTED'],
    ],
  ],
  ['no index', { total: 0, successful: 0, failed: 0 }, []],
]
const PARTIAL: readonly Refresh[] = [
  ['one failed copy', { total: 4, successful: 3, failed: 1 }, STARTED],
  ['failed copies only', { total: 4, successful: 0, failed: 4 }, STARTED],
  ['a shard without a primary', { total: 4, successful: 2, failed: 0 }, [['STARTED', 'STARTED'], []]],
  ['a shard whose replica took over since', { total: 4, successful: 2, failed: 0 }, LACKING_A_COPY],
]
const ANSWERED: Shards = { total: 2, successful: 2, failed: 0 }
const NOT_ANSWERED: readonly Shards[] = [
  { total: 2, successful: 1, failed: 1 },
  { total: 2, successful: 1, failed: 0 },
  { total: 2, successful: 0, failed: 0 },
]
const TYPES = ['Observation', 'Patient']
const NAMES = ['fhir-observation-id', 'fhir-patient-id']
const NEXT = 'fhir-patient-v2-id'
const LIVE = 'fhir-patient-v1-id'
/** Seconds after which the least patient client of the server stops to wait. */
const SHORTEST_PATIENCE = 8
const PLAN: Plan = { tenant: 'one', types: ['Patient'], where: and(), access: 'everything', order: [], limit: 10, total: 'none' }

let engine: AnsweringEngine
let client: Client
let index: OpenSearchIndex
/** Answer to each refresh, by the name of its index. */
let refreshed: (name: string) => Refresh
/** Shards that answered each search. */
let searched: Shards
/** Heartbeat of each shard of the next index: whether its write and a search of it succeed. */
let beats: readonly { readonly status: number; readonly isFound: boolean }[]
let beatIndex: string
/** Alias of an index that has lost its shards. */
let lostShards: string | undefined
/** Indices of the engine, by alias. */
let created: Readonly<Record<string, string>>

beforeEach(async () => {
  refreshed = () => WHOLE[0]!
  searched = ANSWERED
  beats = [1, 2].map(() => ({ status: 201, isFound: true }))
  beatIndex = NEXT
  lostShards = undefined
  created = { 'fhir-patient-id': LIVE, 'fhir-patient-next-id': NEXT }
  engine = await startAnsweringEngine(({ method, path, body }) => {
    const [, name = '', action = ''] = /^\/([^/?]*)\/?([^?]*)/.exec(path) ?? []
    if (name === '_mget') return { docs: (JSON.parse(body) as { docs: object[] }).docs.map(() => ({ _version: 1 })) }
    if (name === '_bulk' && lostShards !== undefined) return bulkWithout(lostShards, path, body)
    if (name === '_bulk') return { items: beats.map(({ status }) => ({ index: { _index: beatIndex, status } })) }
    if (name === '_msearch') return { responses: [{ timed_out: false, hits: { hits: [] }, _shards: searched }] }
    if (action === '_refresh') return { _shards: refreshed(name)[1] }
    if (action === '_search_shards')
      return { shards: refreshed(name)[2].map((copies) => copies.map((state, i) => ({ state, primary: i === 0 }))) }
    if (action === '_search') {
      const doc_count = beats.filter(({ isFound }) => isFound).length
      const pulse = { of: { doc_count, sent: { value: 1 }, indices: { buckets: [{}] } } }
      return { timed_out: false, hits: { hits: [] }, aggregations: { pulse }, _shards: searched }
    }
    if (action.startsWith('_settings'))
      return Object.fromEntries(Object.values(created).map((index) => [index, { settings: { index: { number_of_shards: '2' } } }]))
    if (method === 'GET') return Object.fromEntries(Object.entries(created).map(([alias, index]) => [index, { aliases: { [alias]: {} } }]))
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

/**
 * Answers a bulk request while an index lacks its shards. The engine waits for them, by default for a minute. A client that does not wait
 * that long has no answer, which is a timeout here.
 */
function bulkWithout(lost: string, path: string, body: string): object {
  const seconds = Number.parseInt(new URLSearchParams(path.split('?')[1]).get('timeout') ?? '60', 10)
  if (seconds > SHORTEST_PATIENCE) return { status: 504 }
  const actions = body.split('\n').flatMap((line) => (line.startsWith('{"index":') ? [JSON.parse(line).index as { _index: string }] : []))
  const items = actions.map(({ _index }) => {
    if (_index === lost) return { index: { _index, status: 503, error: { type: 'unavailable_shards_exception' } } }
    return { index: { _index: created[_index] ?? _index, status: 201 } }
  })
  return { items }
}

const tokens = TYPES.map((type) => tokenOf({ tenant: 'one', type, id: '1', version: 1 }))
const asked = (word: string): readonly string[] =>
  engine.requests.filter(({ path }) => path.includes(word)).map(({ path }) => path.split('?')[0]!)
const UNAVAILABLE = { fault: 'unavailable' satisfies FaultKind, kind: 'shards_failed' }

describe('A refresh of each index', () => {
  it.each(WHOLE)('is complete with %s', async (...each) => {
    refreshed = () => each
    expect(await index.caughtUp(tokens, 0)).toBe(true)
    expect([...new Set(asked('_refresh'))].sort()).toEqual(NAMES.map((name) => `/${name}/_refresh`))
    await index.show('Patient')
  })

  it.each(PARTIAL)('fails if one of them reports %s, and nothing counts as visible', async (...each) => {
    refreshed = (name) => (name === 'fhir-patient-id' ? each : WHOLE[0]!)
    await expect(index.caughtUp(tokens, 0)).rejects.toMatchObject(UNAVAILABLE)
    await expect(index.show('Patient')).rejects.toMatchObject(UNAVAILABLE)
    await index.show('Observation')
  })

  it('is repeated if it was incomplete', async () => {
    const answers = [PARTIAL[0]!, WHOLE[0]!, PARTIAL[3]!, WHOLE[0]!, WHOLE[0]!]
    refreshed = () => answers.shift()!
    await index.show('Patient')
    await index.show('Patient')
    expect(asked('_refresh')).toHaveLength(4)
  })
})

describe('A swap', () => {
  const swap = async () => (await index.rebuild('Patient', NEXT)).swap()

  it('makes an index serve that has a heartbeat in every shard', async () => {
    await swap()
    expect(asked('_aliases')).toEqual(['/_aliases'])
  })

  it.each(PARTIAL)('requires a refresh: after %s the serving index stays', async (...each) => {
    refreshed = () => each
    await expect(swap()).rejects.toMatchObject(UNAVAILABLE)
    expect(asked('_aliases')).toEqual([])
  })

  it.each([
    [
      'rejects the heartbeat',
      [
        { status: 201, isFound: true },
        { status: 503, isFound: true },
      ],
      ANSWERED,
    ],
    [
      'shows no heartbeat',
      [
        { status: 201, isFound: true },
        { status: 201, isFound: false },
      ],
      ANSWERED,
    ],
    ['answers no search', [1, 2].map(() => ({ status: 201, isFound: true })), { total: 1, successful: 1, failed: 0 }],
  ])('keeps the serving index if a shard of the next one %s', async (_, written, answered) => {
    beats = written
    searched = answered
    await expect(swap()).rejects.toMatchObject({ fault: 'unavailable' })
    expect(asked('_aliases')).toEqual([])
  })

  it('keeps the serving index if the heartbeat reached another index', async () => {
    beatIndex = LIVE
    await expect(swap()).rejects.toMatchObject({ fault: 'unavailable' })
    expect(asked('_aliases')).toEqual([])
  })
})

describe('A batch of documents', () => {
  const documents = TYPES.map((type) => document({ type, id: '1' }))

  it.each([
    ['the next index', 'fhir-patient-next-id'],
    ['the serving index', 'fhir-patient-id'],
  ])('is applied except for the type of which %s lacks a shard, and wholly once that has returned', async (_, alias) => {
    lostShards = alias
    const failed = { fault: 'not-applied', documents: [{ type: 'Patient', id: '1' }] }
    await expect(index.apply(documents)).rejects.toMatchObject(failed)
    lostShards = 'none'
    await index.apply(documents)
    const { body } = engine.requests.findLast(({ path }) => path.startsWith('/_bulk'))!
    expect(body).toContain('"fhir-patient-next-id"')
  })
})

describe('A search', () => {
  it.each(NOT_ANSWERED)('fails if %o of an index answered', async (each) => {
    searched = each
    await expect(index.find(PLAN)).rejects.toMatchObject(UNAVAILABLE)
  })

  it.each(NOT_ANSWERED)('also fails within a request for many types: %o', async (each) => {
    searched = each
    const many = Array.from({ length: 31 }, (_, i) => `Type${i}`)
    await expect(index.find({ ...PLAN, types: many })).rejects.toMatchObject(UNAVAILABLE)
    expect(asked('_msearch')).toHaveLength(1)
  })
})

describe('A heartbeat', () => {
  const pulsed = async () => Object.keys(await index.pulse(1, {}))

  it.each([
    ['each shard has it', [201, 409], ['Patient']],
    ['a shard rejects it', [201, 503], []],
    ['the answer lacks a shard', [201], []],
  ])('is in an index if %s', async (_, statuses, types) => {
    beats = statuses.map((status) => ({ status, isFound: true }))
    beatIndex = LIVE
    expect(await pulsed()).toEqual(types)
  })

  it.each([
    ['the next index', 'fhir-patient-next-id', ['Observation', 'Patient']],
    ['the serving index of a type', 'fhir-patient-id', ['Observation']],
  ])('is in all other indices if %s lacks its shards', async (_, alias, types) => {
    created = { ...created, 'fhir-observation-id': 'fhir-observation-v1-id' }
    lostShards = alias
    expect(await pulsed()).toEqual(types)
  })

  it('is not in an index that was swapped meanwhile, and may have other shards', async () => {
    expect(await pulsed()).toEqual([])
  })
})
