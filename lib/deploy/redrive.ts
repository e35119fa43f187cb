/**
 * Records that no function could take for 20 hours stand in the bucket, as Lambda wrote them there: they are given to their function again. It
 * knows versions, so that older records change nothing. Who may write to the bucket must not have any function called by who redrives: it is one
 * that puts aside there what it follows. https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-errors.html
 */
import { InvokeCommand, type LambdaClient, paginateListEventSourceMappings } from '@aws-sdk/client-lambda'
import { DeleteObjectCommand, GetObjectCommand, paginateListObjectsV2, type S3Client } from '@aws-sdk/client-s3'
import { FAILED_RECORDS_PREFIX } from './failed-records.ts'

export type RedriveParts = { readonly s3: S3Client; readonly lambda: LambdaClient; readonly bucket: string }

/** `taken`: files whose records were taken, and which are gone. `left`: the others, each with why it stays. */
export type RedriveResult = { readonly taken: number; readonly left: readonly { readonly key: string; readonly why: string }[] }

/** One after the other, from the oldest of each shard on. */
export async function redriveFailedRecords(parts: RedriveParts): Promise<RedriveResult> {
  const left: { key: string; why: string }[] = []
  let taken = 0
  const followed = await followedBy(parts)
  for (const key of await keysIn(parts)) {
    const why = await again(parts, followed, key).catch((error: Error) => `${error.name}: ${error.message}`)
    if (why === undefined) taken++
    else left.push({ key, why })
  }
  return { taken, left }
}

/** As their names say when they were written, behind the mapping and the shard. */
async function keysIn({ s3, bucket }: RedriveParts): Promise<readonly string[]> {
  const keys: string[] = []
  for await (const { Contents = [] } of paginateListObjectsV2({ client: s3 }, { Bucket: bucket, Prefix: FAILED_RECORDS_PREFIX }))
    keys.push(...Contents.map(({ Key = '' }) => Key))
  return keys.toSorted()
}

/** ARN of a function that puts aside into the bucket → the tables it follows. */
async function followedBy({ lambda, bucket }: RedriveParts): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const followed = new Map<string, Set<string>>()
  for await (const { EventSourceMappings = [] } of paginateListEventSourceMappings({ client: lambda }, {}))
    for (const { FunctionArn = '', EventSourceArn = '', DestinationConfig } of EventSourceMappings) {
      if (!DestinationConfig?.OnFailure?.Destination?.endsWith(`:::${bucket}`)) continue
      followed.set(FunctionArn, (followed.get(FunctionArn) ?? new Set()).add(tableOf(EventSourceArn)))
    }
  return followed
}

type PutAside = { readonly requestContext?: { readonly functionArn?: string }; readonly payload?: string }

/** Why it stays; undefined: its function took all of it. */
async function again(
  { s3, lambda, bucket }: RedriveParts,
  followed: ReadonlyMap<string, ReadonlySet<string>>,
  key: string,
): Promise<string | undefined> {
  const { Body } = await s3.send(new GetObjectCommand({ Bucket: bucket, Key: key }))
  const { requestContext: { functionArn } = {}, payload } = JSON.parse((await Body?.transformToString()) ?? '{}') as PutAside
  if (functionArn === undefined || payload === undefined) return 'it names no function, or has no records'
  const tables = followed.get(functionArn)
  if (tables === undefined) return `${functionArn} follows nothing of this stage`
  const other = recordsIn(payload)
    .map(({ eventSourceARN = '' }) => tableOf(eventSourceARN))
    .find((table) => !tables.has(table))
  if (other !== undefined) return `it tells of the table ${other}, which counts no more: POST $reindex for its types, then remove it`
  const { FunctionError, Payload } = await lambda.send(new InvokeCommand({ FunctionName: functionArn, Payload: Buffer.from(payload) }))
  if (FunctionError !== undefined) return `the function failed: ${FunctionError}`
  const { batchItemFailures = [] } = (JSON.parse(Payload?.transformToString() || 'null') ?? {}) as {
    batchItemFailures?: readonly unknown[]
  }
  if (batchItemFailures.length > 0) return 'the function took a part of it'
  await s3.send(new DeleteObjectCommand({ Bucket: bucket, Key: key }))
  return undefined
}

const recordsIn = (payload: string): readonly { readonly eventSourceARN?: string }[] =>
  (JSON.parse(payload) as { readonly Records?: readonly { readonly eventSourceARN?: string }[] }).Records ?? []

/** `arn:aws:dynamodb:REGION:ACCOUNT:table/NAME/stream/LABEL` */
const tableOf = (streamArn: string): string => streamArn.split('/')[1] ?? ''
