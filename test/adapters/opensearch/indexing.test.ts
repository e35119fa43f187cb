/** One history into the embedded home's index and into OpenSearch: both answer every search alike. */
import { it } from '@jest/globals'
import { indexOn, onOpenSearch } from '../../engines/opensearch-index.ts'
import { firstSeed } from '../../fixtures/long-runs.ts'
import { bothWaysAgree } from '../../indexing/same-index.ts'

onOpenSearch('Indexing into OpenSearch', (endpoint) => {
  it('ends in the same index as the embedded home', async () => {
    await bothWaysAgree(5_000, firstSeed(), async () => indexOn(endpoint))
  }, 300_000)
})
