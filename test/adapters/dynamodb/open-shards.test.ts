/** Number of open shards of a table's stream. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { DescribeStreamCommand, DynamoDBStreamsClient, type Shard } from '@aws-sdk/client-dynamodb-streams'
import { expect, it } from '@jest/globals'
import { mockClient } from 'aws-sdk-client-mock'
import { countOpenShards, streamsClient } from '../../../lambdas/adapters/dynamodb/stream/open-shards.ts'
import { runAtEnd } from '../../fixtures/at-end.ts'

const STREAM = 'arn:aws:dynamodb:us-east-1:0:table/t/stream/1'

const shard = (n: number, isClosed: boolean): Shard => ({
  ShardId: `shard-${n}`,
  SequenceNumberRange: { StartingSequenceNumber: '1', ...(isClosed ? { EndingSequenceNumber: '2' } : {}) },
})

/** A stream with pages of these shards. */
function streamOf(...pages: readonly (readonly Shard[])[]) {
  const asked: (string | undefined)[] = []
  const client = new DynamoDBStreamsClient({ region: 'us-east-1' })
  mockClient(client)
    .on(DescribeStreamCommand)
    .callsFake(({ StreamArn, ExclusiveStartShardId }) => {
      expect(StreamArn).toBe(STREAM)
      const page = pages[asked.length]!
      asked.push(ExclusiveStartShardId)
      const last = page.at(-1)?.ShardId
      return { StreamDescription: { Shards: page, ...(asked.length < pages.length ? { LastEvaluatedShardId: last } : {}) } }
    })
  return { asked, count: (most: number) => countOpenShards(client, STREAM, most) }
}

it('Open shards of all pages are counted, and closed ones are not', async () => {
  const { asked, count } = streamOf([shard(1, true), shard(2, false)], [shard(3, true)], [shard(4, false), shard(5, false)])
  expect([await count(500), asked]).toEqual([3, [undefined, 'shard-2', 'shard-3']])
})

it('The count ends after the page with more open shards than the maximum', async () => {
  const { asked, count } = streamOf([shard(1, false), shard(2, false)], [shard(3, false)], [shard(4, false)])
  expect([await count(2), asked.length]).toEqual([3, 2])
})

it('A count fails if the stream does not answer', async () => {
  const silent = createServer(() => undefined)
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  runAtEnd(() => {
    silent.closeAllConnections()
    silent.close()
  })
  const client = streamsClient({
    ...{ endpoint: `http://127.0.0.1:${(silent.address() as AddressInfo).port}`, region: 'us-east-1', maxAttempts: 1 },
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  })
  await expect(countOpenShards(client, STREAM, 500)).rejects.toThrow('requestTimeout')
})
