/** Indices of their own for a test, on the engine of OPENSEARCH_ENDPOINT; without one, a line that says so. */
import { randomUUID } from 'node:crypto'
import { describe, it } from '@jest/globals'
import { Client } from '@opensearch-project/opensearch'
import { OpenSearchIndex, type OpenSearchOptions } from '../../lambdas/adapters/opensearch/search-index.ts'

const endpoint = process.env.OPENSEARCH_ENDPOINT

export function onOpenSearch(name: string, suite: (endpoint: string) => void): void {
  if (endpoint !== undefined) return suite(endpoint)
  const reason = 'OPENSEARCH_ENDPOINT is not set; `node test/engines/run.ts opensearch -- npm test -- test/adapters/opensearch` starts one'
  process.stderr.write(`${name} is not tested: ${reason}\n`)
  describe(name, () => {
    it.skip(`is not tested: ${reason}`, () => {})
  })
}

export type TestIndex = {
  readonly index: OpenSearchIndex
  readonly prefix: string
  readonly client: Client
  /** Another process: the same indices, seen through another endpoint or with other options. */
  readonly another: (options?: Partial<OpenSearchOptions>, endpoint?: string) => OpenSearchIndex
  readonly close: () => Promise<void>
}

export function indexOn(endpoint: string, options: Partial<OpenSearchOptions> = {}): TestIndex {
  const clients: Client[] = []
  const prefix = `fhir-test-${randomUUID()}`
  const settings = { refresh_interval: '20ms', number_of_replicas: 0, 'index.translog.durability': 'async' }
  const another: TestIndex['another'] = (more = {}, node = endpoint) => {
    const client = new Client({ node })
    clients.push(client)
    return new OpenSearchIndex(client, { prefix, settings, refresh: 'wait', ...options, ...more })
  }
  const index = another()
  const client = clients[0]!
  const close = async () => {
    await client.transport.request({ method: 'DELETE', path: `/${prefix}-*-v*` })
    for (const each of clients) await each.close()
  }
  return { index, prefix, client, another, close }
}
