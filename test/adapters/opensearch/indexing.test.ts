/** One history is indexed by the embedded index and by OpenSearch: both answer every search alike. */
import { it } from '@jest/globals'
import { createTestIndex, runOnOpenSearch } from '../../engines/opensearch-index.ts'
import { firstSeed } from '../../fixtures/long-runs.ts'
import { checkIndexesAgree } from '../../indexing/same-index.ts'

runOnOpenSearch('Indexing into OpenSearch', (endpoint) => {
  it('gives the same answers as the embedded index', async () => {
    await checkIndexesAgree(5_000, firstSeed(), async () => createTestIndex(endpoint))
  }, 300_000)
})
