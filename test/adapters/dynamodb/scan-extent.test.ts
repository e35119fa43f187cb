/** Counts that end early, and continue below the timestamp that they reached. */
import { expect, it } from '@jest/globals'
import { scanExtent } from '../../../lambdas/adapters/dynamodb/store/scan-extent.ts'
import type { TypeShards } from '../../../lambdas/adapters/dynamodb/store/type-shards.ts'
import type { TableClient } from '../../../lambdas/adapters/dynamodb/table-client.ts'
import { indexSortKey, parseIndexSortKey } from '../../../lambdas/adapters/dynamodb/table-keys.ts'
import { instantAt } from '../../fixtures/versions.ts'

type Query = { readonly Limit: number; readonly ExpressionAttributeValues: Readonly<Record<':from' | ':to', string>> }

const PARTITIONS = 2
/** Entries of each transaction in each partition. All have the timestamp of the transaction. */
const ENTRIES = 4
const TRANSACTIONS = 6
const TIMES = Array.from({ length: TRANSACTIONS }, (_, i) => instantAt(i))

/** Counts the entries of a partition. Both partitions have the same timestamps. */
async function* count({ Limit, ExpressionAttributeValues: values }: Query): AsyncGenerator<object> {
  const [from, to] = [values[':from'], values[':to']].map((key) => parseIndexSortKey(key).lastUpdated) as [number, number]
  const entries = TIMES.flatMap((time) => Array<number>(ENTRIES).fill(time)).filter((time) => time <= from && time >= to)
  for (const left = entries.toReversed(); ; ) {
    const some = left.splice(0, Limit)
    if (left.length === 0) return yield { count: some.length }
    yield { count: some.length, last: { gsk: indexSortKey(some.at(-1)!, 'id', 1) } }
  }
}

it('cuts no entry into two parts if many have the timestamp at which the count ends', async () => {
  const sources = async (tenant: string, type: string) => Array.from({ length: PARTITIONS }, (_, shard) => ({ tenant, type, shard }))
  const options = {
    ...{ dynamo: { count } as unknown as TableClient, types: { sources } as unknown as TypeShards },
    ...{ now: () => 0, wait: async () => undefined },
  }
  const parts: { readonly since: number; readonly until: number }[] = []
  const asOf = instantAt(TRANSACTIONS)
  for (let until: number | undefined = asOf; until !== undefined; ) {
    let steps = 0
    const request = { tenant: 't', type: 'Patient', asOf, until }
    const { cuts, rest } = await scanExtent(options, request, ENTRIES - 1, () => ++steps > ENTRIES)
    const ends = [...cuts, until]
    parts.push(...ends.map((end, i) => ({ since: ends[i - 1] ?? rest ?? 0, until: end })))
    until = rest
  }
  expect(TIMES.map((time) => parts.filter(({ since, until }) => time > since && time <= until).length)).toEqual(TIMES.map(() => 1))
})
