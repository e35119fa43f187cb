/** Creates the document client of the stores. The client does not retry: the stores know which calls may be repeated, and for how long. */
import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb'
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { timed } from '../../ports/execution/call-times.ts'

/**
 * Maximum connections. It exceeds the number of parallel calls of one large transaction (MAX_PARALLEL_ITEMS), so none waits for a
 * connection.
 */
const agent = { maxSockets: 128 }

export function documentClient(config: DynamoDBClientConfig = {}): DynamoDBDocumentClient {
  const requestHandler = { connectionTimeout: 1_000, httpAgent: agent, httpsAgent: agent }
  const client = new DynamoDBClient({ requestHandler, ...config, maxAttempts: 1 })
  client.middlewareStack.add((next) => (args) => timed('dynamodb', () => next(args)), { step: 'initialize' })
  return DynamoDBDocumentClient.from(client, { marshallOptions: { removeUndefinedValues: true } })
}
