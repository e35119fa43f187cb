/** Entries that a history holds in memory while it passes many that the page does not contain. */
import { expect, it } from '@jest/globals'
import { mergeSources } from '../../../lambdas/adapters/dynamodb/store/merged-sources.ts'
import type { TableClient } from '../../../lambdas/adapters/dynamodb/table-client.ts'
import { indexSortKey, instantSortKey } from '../../../lambdas/adapters/dynamodb/table-keys.ts'

const COPIES = 300_000

/** Index of one partition, whose entries are copies: a version in each millisecond. */
const dynamo = {
  async *query({ ExpressionAttributeValues: { ':gpk': gpk, ':from': from } }: { ExpressionAttributeValues: Record<string, string> }) {
    if (!gpk!.includes('#h#')) return
    for (let n = COPIES; n > 0; n--) {
      const gsk = indexSortKey(n, 'a', n)
      if (gsk >= from!) yield { gsk, sk: 'V' }
    }
  },
}

it('A history reads a long partition in steps of at most 40,000 entries', async () => {
  const ranges = new Map([
    [
      { tenant: 'a', type: 'Patient', shard: 0 },
      { from: instantSortKey(COPIES), to: instantSortKey(0) },
    ],
  ])
  const sizes: number[] = []
  for await (const entries of mergeSources(dynamo as unknown as TableClient, ranges, 1_000)) sizes.push(entries.length)
  expect(sizes.reduce((sum, each) => sum + each)).toBe(COPIES)
  expect(Math.max(...sizes)).toBeLessThanOrEqual(40_000)
})
