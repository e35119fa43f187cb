/** The search index of the cloud home, on the engine of OPENSEARCH_ENDPOINT. */
import { randomUUID } from 'node:crypto'
import { describe, it } from '@jest/globals'
import { Client } from '@opensearch-project/opensearch'
import { OpenSearchIndex, type OpenSearchOptions } from '../../lambdas/adapters/opensearch/search-index.ts'
import { searchIndexContract } from '../contracts/search-index.contract.ts'

const endpoint = process.env.OPENSEARCH_ENDPOINT

if (endpoint === undefined) {
  const reason = 'OPENSEARCH_ENDPOINT is not set; `node test/engines/run.ts opensearch -- npm test -- test/adapters/opensearch` starts one'
  process.stderr.write(`The OpenSearch index is not tested: ${reason}\n`)
  describe('OpenSearch', () => {
    it.skip(`is not tested: ${reason}`, () => {})
  })
} else searchIndexContract('OpenSearch', async () => indexOn(endpoint))

function indexOn(endpoint: string, options: Partial<OpenSearchOptions> = {}) {
  const client = new Client({ node: endpoint })
  const prefix = `fhir-test-${randomUUID()}`
  const settings = { refresh_interval: '20ms', number_of_replicas: 0, 'index.translog.durability': 'async' }
  const close = async () => {
    await client.transport.request({ method: 'DELETE', path: `/${prefix}-*-v*` })
    await client.close()
  }
  return { index: new OpenSearchIndex(client, { prefix, settings, refresh: 'wait', ...options }), close }
}
