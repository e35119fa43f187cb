/** A redrive delivers failed records to their function, and removes none that the function did not take. */
import { InvokeCommand, LambdaClient, ListEventSourceMappingsCommand } from '@aws-sdk/client-lambda'
import { DeleteObjectCommand, GetObjectCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { mockClient } from 'aws-sdk-client-mock'
import { redriveFailedRecords } from '../../lib/deploy/redrive.ts'
import { FAILED_RECORDS_PREFIX } from '../../lib/stacks/failed-records.ts'
import { type DiscardedBatch, pump, type StreamMapping, type StreamRecord } from '../cloud/pump.ts'

const [s3, lambda] = [mockClient(S3Client), mockClient(LambdaClient)]
const BUCKET = 'data'
const FUNCTION = 'arn:aws:lambda:us-east-1:1:function:indexer'
const streamOf = (table: string): string => `arn:aws:dynamodb:us-east-1:1:table/${table}/stream/2031-01-01T00:00:00.000`
const MAPPING: StreamMapping = {
  batchSize: 3,
  window: 0,
  bisects: true,
  retries: -1,
  maxAge: 1_000,
  reportsFailures: true,
  filters: [],
  hasDestination: true,
}

/** Objects in the bucket: key → text. */
const objects = new Map<string, string>()
/** Result of a batch that contains the record. All other batches are taken. */
const answers = new Map<string, 'fails' | 'takes a part'>()
const processedRecords: string[] = []

const record = (n: number): StreamRecord => ({
  eventSourceARN: streamOf('resources'),
  dynamodb: { SequenceNumber: String(n), ApproximateCreationDateTime: 0, NewImage: { pk: { S: `t#Patient#${n}` } } },
})
const bytes = (text: string) => ({ transformToString: () => text, transformToByteArray: () => Buffer.from(text) })

/** Writes the object that Lambda writes. https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-errors.html */
function putAside({ records, reason }: DiscardedBatch, i: number): void {
  const written = {
    requestContext: {
      requestId: String(i),
      functionArn: FUNCTION,
      condition: reason === 'age' ? 'RecordAgeExceeded' : 'RetryAttemptsExhausted',
      approximateInvokeCount: 1,
    },
    responseContext: { statusCode: 200, executedVersion: '$LATEST', functionError: 'Unhandled' },
    ...{ version: '1.0', timestamp: '2031-01-01T00:00:00.000Z' },
    DDBStreamBatchInfo: { shardId: 'shardId-1', startSequenceNumber: records[0]!.dynamodb.SequenceNumber, batchSize: records.length },
    payload: JSON.stringify({ Records: records }),
  }
  objects.set(`${FAILED_RECORDS_PREFIX}mapping/shardId-1/2031/01/01/2031-01-01T00.00.0${i}-uuid`, JSON.stringify(written))
}

beforeEach(async () => {
  s3.on(ListObjectsV2Command, { Bucket: BUCKET, Prefix: FAILED_RECORDS_PREFIX }).callsFake(({ ContinuationToken }) => {
    const keys = [...objects.keys()].toReversed()
    const begin = Number(ContinuationToken ?? 0)
    return {
      Contents: keys.slice(begin, begin + 1).map((Key) => ({ Key })),
      ...(begin + 1 < keys.length && { IsTruncated: true, NextContinuationToken: String(begin + 1) }),
    }
  })
  const [own, others] = [`arn:aws:s3:::${BUCKET}`, `arn:aws:s3:::other-${BUCKET}`]
  const mappings = [
    { FunctionArn: 'arn:aws:lambda:us-east-1:1:function:others', EventSourceArn: streamOf('resources'), to: others },
    { FunctionArn: FUNCTION, EventSourceArn: streamOf('resources'), to: own },
  ].map(({ to, ...mapping }) => ({ ...mapping, DestinationConfig: { OnFailure: { Destination: to } } }))
  lambda.on(ListEventSourceMappingsCommand).callsFake(({ Marker }) => {
    const at = Number(Marker ?? 0)
    return { EventSourceMappings: [mappings[at]], ...(at + 1 < mappings.length && { NextMarker: String(at + 1) }) }
  })
  s3.on(GetObjectCommand).callsFake(({ Key }) => ({ Body: bytes(objects.get(Key)!) }))
  s3.on(DeleteObjectCommand).callsFake(({ Key }) => void objects.delete(Key))
  lambda.on(InvokeCommand, { FunctionName: FUNCTION }).callsFake(({ Payload }) => {
    const { Records } = JSON.parse(Buffer.from(Payload).toString()) as { readonly Records: readonly StreamRecord[] }
    const names = Records.map(({ dynamodb }) => dynamodb.SequenceNumber)
    const answer = names.flatMap((name) => answers.get(name) ?? [])[0]
    if (answer === 'fails') return { FunctionError: 'Unhandled', Payload: bytes('{}') }
    if (answer === undefined) processedRecords.push(...names)
    return { Payload: bytes(JSON.stringify({ batchItemFailures: answer === undefined ? [] : [{ itemIdentifier: names[0] }] })) }
  })
  const discarded: DiscardedBatch[] = []
  const reads = [Array.from({ length: 7 }, (_, i) => record(i + 1))]
  const dead = pump({
    mapping: MAPPING,
    read: async () => reads.shift() ?? [],
    invoke: async () => ({ kind: 'error', message: 'broken' }),
    onDiscarded: (each) => discarded.push(each),
    now: () => 2_000,
  })
  await dead.drain()
  expect(discarded.flatMap(({ records }) => records)).toHaveLength(7)
  discarded.forEach(putAside)
})
afterEach(() => {
  for (const mock of [s3, lambda]) mock.reset()
  for (const map of [objects, answers]) map.clear()
  processedRecords.length = 0
})

const again = () =>
  redriveFailedRecords({ s3: new S3Client({ region: 'us-east-1' }), lambda: new LambdaClient({ region: 'us-east-1' }), bucket: BUCKET })

it('a redrive delivers all records in order, from all pages of the list', async () => {
  expect(await again()).toEqual({ processed: 3, remaining: [] })
  expect(processedRecords).toEqual(['1', '2', '3', '4', '5', '6', '7'])
  expect([...objects.keys()]).toEqual([])
})

it('a redrive leaves records that are not taken, with the reason', async () => {
  answers.set('2', 'fails').set('5', 'takes a part')
  const { processed, remaining } = await again()
  expect([processed, remaining.map(({ reason }) => reason)]).toEqual([
    1,
    ['the function failed: Unhandled', 'the function processed only a part of it'],
  ])
  expect([...objects.keys()].toSorted()).toEqual(remaining.map(({ key }) => key))
  answers.clear()
  expect(await again()).toEqual({ processed: 2, remaining: [] })
  expect(processedRecords.toSorted()).toEqual(['1', '2', '3', '4', '5', '6', '7'])
})

it('a redrive skips files that are unreadable or not from Lambda', async () => {
  objects.set(`${FAILED_RECORDS_PREFIX}a`, '{}').set(`${FAILED_RECORDS_PREFIX}b`, 'no JSON')
  const { processed, remaining } = await again()
  expect([processed, remaining]).toEqual([
    3,
    [
      { key: `${FAILED_RECORDS_PREFIX}a`, reason: 'it names no function, or has no records' },
      { key: `${FAILED_RECORDS_PREFIX}b`, reason: expect.stringMatching(/^SyntaxError/) },
    ],
  ])
})

it('a redrive calls only functions of the stage', async () => {
  for (const name of ['others', 'payroll'])
    objects.set(
      `${FAILED_RECORDS_PREFIX}${name}`,
      JSON.stringify({ requestContext: { functionArn: `arn:aws:lambda:us-east-1:1:function:${name}` }, payload: '{"Records":[]}' }),
    )
  const { remaining } = await again()
  expect(remaining.map(({ reason }) => reason)).toEqual([
    'arn:aws:lambda:us-east-1:1:function:others reads no stream of this stage',
    'arn:aws:lambda:us-east-1:1:function:payroll reads no stream of this stage',
  ])
  expect(lambda.commandCalls(InvokeCommand).every(({ args: [{ input }] }) => input.FunctionName === FUNCTION)).toBe(true)
})

it('a redrive leaves records of a superseded table', async () => {
  const key = `${FAILED_RECORDS_PREFIX}a`
  const payload = JSON.stringify({ Records: [record(8), { ...record(9), eventSourceARN: streamOf('before') }] })
  objects.set(key, JSON.stringify({ requestContext: { functionArn: FUNCTION }, payload }))
  expect((await again()).remaining).toEqual([
    {
      key,
      reason:
        'it has records of the table before, which the stage no longer uses: if they are audit records, keep it; otherwise POST $reindex for its types, then remove it',
    },
  ])
  expect([objects.has(key), processedRecords.includes('8')]).toEqual([true, false])
})
