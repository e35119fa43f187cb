/** One history into the embedded home's index and into OpenSearch: both answer every search alike. */
import { it } from '@jest/globals'
import { indexOn, onOpenSearch } from '../engines/opensearch-index.ts'
import { bothWaysAgree } from '../indexing/same-index.ts'

onOpenSearch('Indexing into OpenSearch', (endpoint) => {
  it('ends in the same index as the embedded home', async () => {
    await bothWaysAgree(5_000, Number(process.env.FHIR_TEST_SEED ?? Date.now() % 1_000_000), async () => indexOn(endpoint))
  }, 300_000)
})
