/** The OpenSearch search index, on the engine of OPENSEARCH_ENDPOINT: the contracts. */
import { afterAll, beforeAll, describe } from '@jest/globals'
import { exactValuesContract, executorOf } from '../../contracts/exact-values.contract.ts'
import { searchIndexContract } from '../../contracts/search-index.contract.ts'
import { createTestIndex, runOnOpenSearch, type TestIndex } from '../../engines/opensearch-index.ts'

runOnOpenSearch('OpenSearch', (endpoint) => {
  searchIndexContract('OpenSearch', async () => createTestIndex(endpoint))

  describe('OpenSearch: values', () => {
    let open: TestIndex
    beforeAll(() => {
      open = createTestIndex(endpoint)
    })
    afterAll(() => open.close())
    exactValuesContract('OpenSearch', 1, () => executorOf(open.index))
  })
})
