/** The OpenSearch search index, on the engine of OPENSEARCH_ENDPOINT: the contracts. */
import { afterAll, beforeAll, describe } from '@jest/globals'
import { exactValuesContract, executorOf } from '../../contracts/exact-values.contract.ts'
import { searchIndexContract } from '../../contracts/search-index.contract.ts'
import { createTestIndex, runOnOpenSearch, type TestIndex, withShards } from '../../engines/opensearch-index.ts'
import { isFullRun } from '../../fixtures/long-runs.ts'

const SHARDS = isFullRun ? [1, 3, 32] : [1]

runOnOpenSearch('OpenSearch', (endpoint) => {
  for (const shards of SHARDS)
    searchIndexContract(`OpenSearch with ${shards} shards`, async () => createTestIndex(endpoint, withShards(shards)))

  describe('OpenSearch: values', () => {
    let open: TestIndex
    beforeAll(() => {
      open = createTestIndex(endpoint)
    })
    afterAll(() => open.close())
    exactValuesContract('OpenSearch', 1, () => executorOf(open.index))
  })
})
