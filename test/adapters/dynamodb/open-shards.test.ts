/** Number of open shards of a table's stream. */
import { DescribeStreamCommand, DynamoDBStreamsClient, type Shard } from '@aws-sdk/client-dynamodb-streams'
import { expect, it } from '@jest/globals'
import { mockClient } from 'aws-sdk-client-mock'
import { countOpenShards } from '../../../lambdas/adapters/dynamodb/stream/open-shards.ts'

const STREAM = 'arn:aws:dynamodb:us-east-1:0:table/t/stream/1'

const shard = (n: number, isClosed: boolean): Shard => ({
  ShardId: `shard-${n}`,
  SequenceNumberRange: { StartingSequenceNumber: '1', ...(isClosed ? { EndingSequenceNumber: '2' } : {}) },
})

/** A stream with pages of these shards. */
function streamOf(...pages: readonly (readonly Shard[])[]) {
  const asked: (string | undefined)[] = []
  const client = mockClient(DynamoDBStreamsClient)
  client.on(DescribeStreamCommand).callsFake(({ StreamArn, ExclusiveStartShardId }) => {
    expect(StreamArn).toBe(STREAM)
    const page = pages[asked.length]!
    asked.push(ExclusiveStartShardId)
    const last = page.at(-1)?.ShardId
    return { StreamDescription: { Shards: page, ...(asked.length < pages.length ? { LastEvaluatedShardId: last } : {}) } }
  })
  return { asked, count: (most: number) => countOpenShards(client as unknown as DynamoDBStreamsClient, STREAM, most) }
}

it('Open shards of all pages are counted, and closed ones are not', async () => {
  const { asked, count } = streamOf([shard(1, true), shard(2, false)], [shard(3, true)], [shard(4, false), shard(5, false)])
  expect([await count(500), asked]).toEqual([3, [undefined, 'shard-2', 'shard-3']])
})

it('The count ends after the page with more open shards than the maximum', async () => {
  const { asked, count } = streamOf([shard(1, false), shard(2, false)], [shard(3, false)], [shard(4, false)])
  expect([await count(2), asked.length]).toEqual([3, 2])
})
