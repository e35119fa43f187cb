/** One history into the embedded home's index and into OpenSearch: both answer every search alike. */
import { it } from '@jest/globals'
import { createTestIndex, runOnOpenSearch } from '../../engines/opensearch-index.ts'
import { firstSeed } from '../../fixtures/long-runs.ts'
import { checkIndexesAgree } from '../../indexing/same-index.ts'

runOnOpenSearch('Indexing into OpenSearch', (endpoint) => {
  it('ends in the same index as the embedded home', async () => {
    await checkIndexesAgree(5_000, firstSeed(), async () => createTestIndex(endpoint))
  }, 300_000)
})
