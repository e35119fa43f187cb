/**
 * Counts the open shards of a table's stream. https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_DescribeStream.html
 */
import { DescribeStreamCommand, DynamoDBStreamsClient, type DynamoDBStreamsClientConfig } from '@aws-sdk/client-dynamodb-streams'
import { timed } from '../../../ports/execution/call-times.ts'

/** A request without an answer fails after two seconds. Without `throwOnRequestTimeout` the client would only log that. */
const TIMEOUTS = { connectionTimeout: 1_000, requestTimeout: 2_000, throwOnRequestTimeout: true } as const

/** Opens a client. It waits between attempts, because AWS accepts ten of these calls per second. */
export const streamsClient = (config: DynamoDBStreamsClientConfig = {}): DynamoDBStreamsClient =>
  new DynamoDBStreamsClient({ requestHandler: TIMEOUTS, maxAttempts: 5, ...config })

/**
 * Returns the number of open shards. A shard is closed after some hours, or when its partition is split, and remains listed for a day. So
 * there are several pages. Stops after a page with which there are more than `limit`.
 */
export async function countOpenShards(client: DynamoDBStreamsClient, StreamArn: string, limit: number): Promise<number> {
  let count = 0
  let ExclusiveStartShardId: string | undefined
  do {
    const command = new DescribeStreamCommand({ StreamArn, ...(ExclusiveStartShardId === undefined ? {} : { ExclusiveStartShardId }) })
    const { StreamDescription } = await timed('dynamodb', () => client.send(command))
    for (const { SequenceNumberRange } of StreamDescription?.Shards ?? [])
      if (SequenceNumberRange?.EndingSequenceNumber === undefined) count++
    ExclusiveStartShardId = StreamDescription?.LastEvaluatedShardId
  } while (ExclusiveStartShardId !== undefined && count <= limit)
  return count
}
