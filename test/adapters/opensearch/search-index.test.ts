/** The OpenSearch search index, on the engine of OPENSEARCH_ENDPOINT: the contracts. */
import { afterAll, beforeAll, describe } from '@jest/globals'
import { exactValuesContract, executorOf } from '../../contracts/exact-values.contract.ts'
import { searchIndexContract } from '../../contracts/search-index.contract.ts'
import { sharedIndexContract } from '../../contracts/shared-index.contract.ts'
import { createTestIndex, runOnOpenSearch, type TestIndex, withShards } from '../../engines/opensearch-index.ts'
import { isFullRun } from '../../fixtures/long-runs.ts'

/** Numbers of shards, and generated plans of a whole run: each takes longer with more shards. */
const SHARDS = isFullRun ? ([[1], [3, 5_000], [32, 2_000]] as const) : ([[1]] as const)

runOnOpenSearch('OpenSearch', (endpoint) => {
  for (const [shards, rounds] of SHARDS)
    searchIndexContract(`OpenSearch with shards: ${shards}`, async () => createTestIndex(endpoint, withShards(shards)), rounds)

  sharedIndexContract('OpenSearch', async () => createTestIndex(endpoint))

  describe('OpenSearch: values', () => {
    let open: TestIndex
    beforeAll(() => {
      open = createTestIndex(endpoint)
    })
    afterAll(() => open.close())
    exactValuesContract('OpenSearch', 1, () => executorOf(open.index))
  })
})
