/** Indices of their own for a test, on the engine of OPENSEARCH_ENDPOINT; without one, a line that says so. */
import { randomUUID } from 'node:crypto'
import { describe, it } from '@jest/globals'
import { Client } from '@opensearch-project/opensearch'
import { FILL_SETTINGS } from '../../lambdas/adapters/opensearch/next-index.ts'
import { OpenSearchIndex, type OpenSearchOptions } from '../../lambdas/adapters/opensearch/search-index.ts'
import { resourceTypes } from '../../lambdas/fhir/resource-types.ts'
import { addIndices, markLost, markServing, withIdentity } from '../../lambdas/indexing/lifecycle/serving-indices.ts'
import type { IndexState, SharedIndexState } from '../../lambdas/indexing/lifecycle/state.ts'
import type { IndexRegister, ServingIndices } from '../../lambdas/ports/search/serving-indices.ts'
import { memoryIndexState } from '../fixtures/memory-index-state.ts'

const endpoint = process.env.OPENSEARCH_ENDPOINT
/** On one node an index has no replica. On two it has one, as in a deployment of several nodes. */
const hasReplicas = Number(process.env.OPENSEARCH_NODES) > 1
export const TEST_SETTINGS = { refresh_interval: '20ms', auto_expand_replicas: '0-1', 'index.translog.durability': 'async' }
/** Settings while an index is filled: those of a deployment, but with more refreshes, because writes of tests wait for them. */
export const TEST_FILL_SETTINGS = { ...FILL_SETTINGS, refresh_interval: TEST_SETTINGS.refresh_interval }

export const TEST_OPTIONS = { settings: TEST_SETTINGS, fillSettings: TEST_FILL_SETTINGS, refresh: 'wait' } as const

/** Returns the option that gives the index of every type this number of shards. */
export const withShards = (count: number): Pick<OpenSearchOptions, 'shards'> => ({
  shards: Object.fromEntries(resourceTypes.map((type) => [type, count])),
})

export function runOnOpenSearch(name: string, suite: (endpoint: string) => void): void {
  if (endpoint !== undefined) return suite(endpoint)
  skip(name, 'OPENSEARCH_ENDPOINT is not set; `node test/engines/run.ts opensearch -- npm test -- test/adapters/opensearch` starts one')
}

/** Does what `runOnOpenSearch` does, for tests that need a second node. */
export function runOnTwoNodes(name: string, suite: (endpoint: string) => void): void {
  if (endpoint === undefined || hasReplicas) return runOnOpenSearch(name, suite)
  skip(name, 'OpenSearch has one node; `node test/engines/run.ts opensearch-pair -- npm test -- test/adapters/opensearch` starts two')
}

function skip(name: string, reason: string): void {
  process.stderr.write(`${name} is not tested: ${reason}\n`)
  describe(name, () => {
    it.skip(`is not tested: ${reason}`, () => {})
  })
}

export type TestIndex = {
  readonly index: OpenSearchIndex
  readonly prefix: string
  /** What all processes agree on. */
  readonly state: SharedIndexState
  /** The type's index, named by its rebuild, has all documents. */
  readonly madeWhole: (type: string, identity: string) => Promise<void>
  readonly client: Client
  /** Another process: the same indices, seen through another endpoint or with other options. */
  readonly another: (options?: Partial<OpenSearchOptions>, endpoint?: string) => OpenSearchIndex
  readonly close: () => Promise<void>
}

export function createTestIndex(endpoint: string, options: Partial<OpenSearchOptions> = {}): TestIndex {
  const clients: Client[] = []
  const prefix = `fhir-test-${randomUUID()}`
  const state = memoryIndexState()
  const { live, register } = indexRegisterOf(state)
  const another: TestIndex['another'] = (more = {}, node = endpoint) => {
    const client = new Client({ node })
    clients.push(client)
    return new OpenSearchIndex(client, { prefix, live, register, ...TEST_OPTIONS, ...options, ...more })
  }
  const index = another()
  const client = clients[0]!
  const close = async () => {
    await client.transport.request({ method: 'DELETE', path: `/${prefix}-*-v*` })
    for (const each of clients) await each.close()
  }
  const madeWhole: TestIndex['madeWhole'] = async (type, identity) => {
    await state.change((each) => markServing(each, type, identity))
  }
  return { index, prefix, state, madeWhole, client, another, close }
}

/** As the indexer's. */
export function indexRegisterOf(state: SharedIndexState): {
  readonly live: () => Promise<ServingIndices>
  readonly register: IndexRegister
} {
  const changed = async (change: (each: IndexState) => IndexState): Promise<ServingIndices> => {
    const fresh = newIdentity()
    const { value } = await state.change((each) => change(withIdentity(each, fresh)))
    return value
  }
  return {
    live: () => changed((each) => each),
    register: {
      begun: (types, identity) => changed((each) => addIndices(each, types, identity)),
      lost: async (missing) => void (await changed((each) => markLost(each, missing, newIdentity()))),
    },
  }
}

const newIdentity = (): string => randomUUID().slice(-12)
