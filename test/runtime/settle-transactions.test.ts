/** The settler and the indexer on an emulator: their run of every minute, and records that they cannot process. */
import { PutCommand } from '@aws-sdk/lib-dynamodb'
import { afterEach, beforeAll, expect, it, jest } from '@jest/globals'
import { DynamoDbRows } from '../../lambdas/adapters/dynamodb/rows/rows.ts'
import { DynamoDbSharedState } from '../../lambdas/adapters/dynamodb/rows/shared-state.ts'
import { heartbeatItem } from '../../lambdas/adapters/dynamodb/stream/heartbeat.ts'
import { requestRebuild } from '../../lambdas/indexing/lifecycle/rebuild-queue.ts'
import { beatsOf, latestHeartbeatOf, NO_HEARTBEAT } from '../../lambdas/indexing/stream/heartbeat.ts'
import { PASS_ROWS } from '../../lambdas/ports/rows/pass.ts'
import { followHeads, settleTransactions } from '../../lambdas/runtime/aws/index-workers.ts'
import { indexState, stateTable } from '../../lambdas/runtime/aws/ports.ts'
import { runAtEnd } from '../fixtures/at-end.ts'
import { runOnDynamo } from '../fixtures/dynamodb/on-dynamo.ts'
import { createMemoryBucket } from '../fixtures/s3.ts'
import { serveBucket } from '../fixtures/s3-server.ts'
import { DAY } from '../fixtures/set-clock.ts'
import { startWorkflowServer } from '../fixtures/workflows.ts'

await runOnDynamo((engine) => {
  runAtEnd(() => engine.stop())

  afterEach(() => void jest.restoreAllMocks())
  const bucket = createMemoryBucket(() => Date.now())
  let started: readonly string[]
  beforeAll(async () => {
    const machines = await startWorkflowServer()
    started = machines.started
    Object.assign(process.env, {
      ...{
        FHIR_TABLE: await engine.newTable(),
        FHIR_STATE_TABLE: await engine.newTable(),
        FHIR_SEARCH_ENDPOINT: 'http://127.0.0.1:9',
        FHIR_SEARCH_SIGNING: 'none',
        FHIR_REBUILD_WORKFLOW: 'arn:aws:states:us-east-1:0:stateMachine:r',
        FHIR_BUCKET: 'bodies',
        AWS_ENDPOINT_URL_S3: await serveBucket(bucket.client),
      },
      ...{ AWS_ENDPOINT_URL_DYNAMODB: engine.endpoint, AWS_ENDPOINT_URL_SFN: machines.endpoint },
      ...{ AWS_REGION: 'us-east-1', AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' },
    })
    // A transaction that cannot be settled.
    const pk = 't#TXN#broken'
    const record = { state: 'COMMITTED', deadline: 0, since: 0, lu: 0, chunks: 1, gpk: 'TXN#open', gsk: `${'0'.repeat(15)}#broken` }
    for (const Item of [
      { pk, sk: 'T', ...record, tenant: 't', id: 'broken' },
      { pk, sk: 'M#0000', keys: Buffer.from('no manifest') },
    ])
      await engine.client.send(new PutCommand({ TableName: process.env.FHIR_TABLE, Item }))
  })

  it('starts the requested rebuilds even if a transaction cannot be settled, and then fails', async () => {
    await indexState().change((state) => requestRebuild(state, 'default', ['Patient']))
    await expect(settleTransactions({ sweep: 'transactions' })).rejects.toThrow('1 of 1 transactions could not be settled')
    expect(started).toEqual([expect.stringMatching(/^rebuild-1-\d+$/)])
  })

  it('removes unused bodies once a week, and reports those that cannot be read', async () => {
    const printed = jest.spyOn(console, 'error').mockReturnValue()
    const rows = new DynamoDbRows(stateTable())
    const write = (key: string, text: string) => void bucket.objects.set(`bodies/t/Binary/${key}`, { text, written: Date.now() - 2 * DAY })
    // A body ends with the version for which it was written, and the length of that.
    write('unused', 'xt#Binary#a 1\0\x0c')
    await settleTransactions({ sweep: 'bodies' })
    expect([[...bucket.objects.keys()], await rows.read(PASS_ROWS, 'bodies')]).toEqual([[], { began: expect.any(Number) }])
    write('unreadable', 'x')
    await settleTransactions({ sweep: 'bodies' })
    expect(printed).not.toHaveBeenCalled()
    await rows.change(PASS_ROWS, 'bodies', () => ({ began: Date.now() - 7 * DAY }))
    await expect(settleTransactions({ sweep: 'bodies' })).rejects.toThrow('some entries of the pass bodies could not be checked')
    expect(printed.mock.calls.map(([line]) => JSON.parse(line))).toEqual([expect.objectContaining({ requestId: 'bodies' })])
    expect([...bucket.objects.keys()]).toEqual(['bodies/t/Binary/unreadable'])
  })

  it('ignores records of another table, which arrive while a deployment exchanges tables', async () => {
    const printed = jest.spyOn(console, 'error').mockReturnValue()
    const record = { sk: { S: 'T' }, state: { S: 'COMMITTED' }, gpk: { S: 'TXN#open' }, tenant: { S: 't' }, id: { S: 'broken' } }
    const head = { pk: { S: 't#Patient#a' }, sk: { S: 'H' }, v: { M: { vid: { N: '1' }, lu: { N: '1' }, del: { BOOL: true } } } }
    const told = <Image>(table: string, NewImage: Image) => ({
      Records: [{ eventSourceARN: `arn:aws:dynamodb:us-east-1:0:table/${table}/stream/1`, dynamodb: { SequenceNumber: '1', NewImage } }],
    })
    expect(await settleTransactions(told('other', record))).toEqual({ batchItemFailures: [] })
    expect(await followHeads(told('other', head))).toEqual({ batchItemFailures: [] })
    expect(printed).not.toHaveBeenCalled()
    // It cannot be settled.
    const failed = { batchItemFailures: [{ itemIdentifier: '1' }] }
    expect(await settleTransactions(told(process.env.FHIR_TABLE!, record))).toEqual(failed)
    // Nor is there an index.
    expect(await followHeads(told(process.env.FHIR_TABLE!, head))).toEqual(failed)
  })

  it('accepts no heartbeat from a batch with a version that is not indexed', async () => {
    const printed = jest.spyOn(console, 'log').mockReturnValue()
    jest.spyOn(console, 'error').mockReturnValue()
    const head = { pk: { S: 't#Patient#a' }, sk: { S: 'H' }, v: { M: { vid: { N: '1' }, lu: { N: '1' }, del: { BOOL: true } } } }
    const beats = beatsOf(7, 64).map((beat) => {
      const { pk, sk, sent } = heartbeatItem(beat)
      return { pk: { S: pk }, sk: { S: sk }, sent: { N: String(sent) } }
    })
    const told = <Image>(images: readonly Image[]) => ({
      Records: images.map((NewImage, i) => ({ dynamodb: { SequenceNumber: String(i), ApproximateCreationDateTime: 1, NewImage } })),
    })
    const pulse = async () => (await new DynamoDbSharedState(stateTable(), 'PULSE', NO_HEARTBEAT).read()).value
    expect((await followHeads(told([head, ...beats]))).batchItemFailures).toEqual([{ itemIdentifier: '0' }])
    expect(await pulse()).toEqual(NO_HEARTBEAT)
    expect((await followHeads(told(beats))).batchItemFailures).toEqual([])
    expect(latestHeartbeatOf(await pulse())).toBe(7)
    // A heartbeat is no write, so no lag is logged.
    expect(printed).not.toHaveBeenCalled()
  })
})
