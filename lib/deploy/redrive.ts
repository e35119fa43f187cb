/**
 * Passes failed stream records to their functions again. Lambda stores records in the bucket if their function could not process them for
 * 20 hours. Functions compare versions, so outdated records change nothing. Write access to the bucket must not be enough to run any
 * function with the operator's permissions. Therefore only functions that store failed records in this bucket are invoked.
 * https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-errors.html
 */
import { InvokeCommand, type LambdaClient, paginateListEventSourceMappings } from '@aws-sdk/client-lambda'
import { DeleteObjectCommand, GetObjectCommand, paginateListObjectsV2, type S3Client } from '@aws-sdk/client-s3'
import { FAILED_RECORDS_PREFIX } from '../stacks/failed-records.ts'

export type RedriveParts = { readonly s3: S3Client; readonly lambda: LambdaClient; readonly bucket: string }

/**
 * Result of a redrive. `processed`: number of files whose records were processed; these files are removed. `remaining`: the other files,
 * each with the reason.
 */
export type RedriveResult = { readonly processed: number; readonly remaining: readonly { readonly key: string; readonly reason: string }[] }

/** Redrives all files in sequence. The files of a shard start with the oldest. */
export async function redriveFailedRecords(parts: RedriveParts): Promise<RedriveResult> {
  const remaining: { key: string; reason: string }[] = []
  let processed = 0
  const followed = await followedTables(parts)
  for (const key of await keysIn(parts)) {
    const reason = await redriveFile(parts, followed, key).catch((error: Error) => `${error.name}: ${error.message}`)
    if (reason === undefined) processed++
    else remaining.push({ key, reason })
  }
  return { processed, remaining }
}

/** Returns the keys in ascending order. A key contains the time of its write, after the mapping and the shard. */
async function keysIn({ s3, bucket }: RedriveParts): Promise<readonly string[]> {
  const keys: string[] = []
  for await (const { Contents = [] } of paginateListObjectsV2({ client: s3 }, { Bucket: bucket, Prefix: FAILED_RECORDS_PREFIX }))
    keys.push(...Contents.map(({ Key = '' }) => Key))
  return keys.toSorted()
}

/** Returns the tables that each function follows, by function ARN. Leaves out functions that store no failed records in the bucket. */
async function followedTables({ lambda, bucket }: RedriveParts): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const followed = new Map<string, Set<string>>()
  for await (const { EventSourceMappings = [] } of paginateListEventSourceMappings({ client: lambda }, {}))
    for (const { FunctionArn = '', EventSourceArn = '', DestinationConfig } of EventSourceMappings) {
      if (!DestinationConfig?.OnFailure?.Destination?.endsWith(`:::${bucket}`)) continue
      followed.set(FunctionArn, (followed.get(FunctionArn) ?? new Set()).add(tableOf(EventSourceArn)))
    }
  return followed
}

type PutAside = { readonly requestContext?: { readonly functionArn?: string }; readonly payload?: string }

/** Redrives one file. Returns the reason if the file stays, or undefined if the function processed all of its records. */
async function redriveFile(
  { s3, lambda, bucket }: RedriveParts,
  followed: ReadonlyMap<string, ReadonlySet<string>>,
  key: string,
): Promise<string | undefined> {
  const { Body } = await s3.send(new GetObjectCommand({ Bucket: bucket, Key: key }))
  const { requestContext: { functionArn } = {}, payload } = JSON.parse((await Body?.transformToString()) ?? '{}') as PutAside
  if (functionArn === undefined || payload === undefined) return 'it names no function, or has no records'
  const tables = followed.get(functionArn)
  if (tables === undefined) return `${functionArn} reads no stream of this stage`
  const other = recordsIn(payload)
    .map(({ eventSourceARN = '' }) => tableOf(eventSourceARN))
    .find((table) => !tables.has(table))
  if (other !== undefined)
    return `it has records of the table ${other}, which the stage no longer uses: if they are audit records, keep it; otherwise POST $reindex for its types, then remove it`
  const { FunctionError, Payload } = await lambda.send(new InvokeCommand({ FunctionName: functionArn, Payload: Buffer.from(payload) }))
  if (FunctionError !== undefined) return `the function failed: ${FunctionError}`
  const { batchItemFailures = [] } = (JSON.parse(Payload?.transformToString() || 'null') ?? {}) as {
    batchItemFailures?: readonly unknown[]
  }
  if (batchItemFailures.length > 0) return 'the function processed only a part of it'
  await s3.send(new DeleteObjectCommand({ Bucket: bucket, Key: key }))
  return undefined
}

const recordsIn = (payload: string): readonly { readonly eventSourceARN?: string }[] =>
  (JSON.parse(payload) as { readonly Records?: readonly { readonly eventSourceARN?: string }[] }).Records ?? []

/** Returns the name in `arn:aws:dynamodb:REGION:ACCOUNT:table/NAME/stream/LABEL`. */
const tableOf = (streamArn: string): string => streamArn.split('/')[1] ?? ''
