/** Creates the document client of the stores. The client does not retry: the stores know which calls may be repeated, and for how long. */
import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb'
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'

/**
 * Maximum connections. It exceeds the number of parallel calls of one large transaction (MAX_PARALLEL_ITEMS), so none waits for a
 * connection.
 */
const agent = { maxSockets: 128 }

export const documentClient = (config: DynamoDBClientConfig = {}): DynamoDBDocumentClient =>
  DynamoDBDocumentClient.from(
    new DynamoDBClient({ requestHandler: { connectionTimeout: 1_000, httpAgent: agent, httpsAgent: agent }, ...config, maxAttempts: 1 }),
    { marshallOptions: { removeUndefinedValues: true } },
  )
