/** The search index of the cloud home, on the engine of OPENSEARCH_ENDPOINT: the contracts. */
import { afterAll, beforeAll, describe } from '@jest/globals'
import { exactValuesContract, executorOn } from '../../contracts/exact-values.contract.ts'
import { searchIndexContract } from '../../contracts/search-index.contract.ts'
import { indexOn, onOpenSearch, type TestIndex } from '../../engines/opensearch-index.ts'

onOpenSearch('OpenSearch', (endpoint) => {
  searchIndexContract('OpenSearch', async () => indexOn(endpoint))

  describe('OpenSearch: values', () => {
    let open: TestIndex
    beforeAll(() => {
      open = indexOn(endpoint)
    })
    afterAll(() => open.close())
    exactValuesContract('OpenSearch', 1, () => executorOn(open.index))
  })
})
