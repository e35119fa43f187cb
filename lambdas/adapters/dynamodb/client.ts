/** The document client the stores want. It repeats nothing by itself: the stores know which calls may be repeated, and for how long. */
import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb'
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'

/** More than are ever under way for one large transaction. */
const agent = { maxSockets: 128 }

export const documentClient = (config: DynamoDBClientConfig = {}): DynamoDBDocumentClient =>
  DynamoDBDocumentClient.from(
    new DynamoDBClient({ requestHandler: { connectionTimeout: 1_000, httpAgent: agent, httpsAgent: agent }, ...config, maxAttempts: 1 }),
    { marshallOptions: { removeUndefinedValues: true } },
  )
