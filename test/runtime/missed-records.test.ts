/** Records that never came through the stream, on an emulator: the indexer detects them by the beats that should have come with them. */

import { expect, it, jest } from '@jest/globals'
import { DynamoDbSharedState } from '../../lambdas/adapters/dynamodb/rows/shared-state.ts'
import { heartbeatItem } from '../../lambdas/adapters/dynamodb/stream/heartbeat.ts'
import type { StreamRecord } from '../../lambdas/adapters/dynamodb/stream/stream.ts'
import { addIndices, withIdentity } from '../../lambdas/indexing/lifecycle/serving-indices.ts'
import { encode } from '../../lambdas/indexing/lifecycle/stored-state.ts'
import { NO_HEARTBEAT } from '../../lambdas/indexing/stream/heartbeat.ts'
import { followHeads } from '../../lambdas/runtime/aws/index-workers.ts'
import { migrate } from '../../lambdas/runtime/aws/migration.ts'
import { indexState, stateTable } from '../../lambdas/runtime/aws/ports.ts'
import { runAtEnd } from '../fixtures/at-end.ts'
import { runOnDynamo } from '../fixtures/dynamodb/on-dynamo.ts'

const HOUR = 60 * 60_000
const MINUTE = 60_000

await runOnDynamo((engine) => {
  runAtEnd(() => engine.stop())

  const imageOf = (place: number, sent: number) => {
    const { pk, sk } = heartbeatItem({ place, sent })
    return { pk: { S: String(pk) }, sk: { S: String(sk) }, sent: { N: String(sent) } }
  }
  const beat = (place: number, sent: number, before: number): StreamRecord => ({
    dynamodb: { SequenceNumber: `${sent}${place}`, NewImage: imageOf(place, sent), OldImage: imageOf(place, before) },
  })
  /** Its version has no resource. */
  const unreadable: StreamRecord = {
    dynamodb: { SequenceNumber: 'bad', NewImage: { pk: { S: 't#Patient#a' }, sk: { S: 'H' }, v: { M: { vid: { N: '1' }, lu: { N: '1' }, del: { BOOL: true } } } } },
  } // biome-ignore format: one record
  const follow = async (...Records: readonly StreamRecord[]) =>
    (await followHeads({ Records })).batchItemFailures.map(({ itemIdentifier }) => itemIdentifier)
  const arrived = async () => (await new DynamoDbSharedState(stateTable(), 'PULSE', NO_HEARTBEAT).read()).value.arrived
  const behind = async () => encode((await indexState().read()).value).behind

  it('an index is rebuilt after a missing beat, but not after repeated or failed records', async () => {
    Object.assign(process.env, {
      ...{ FHIR_TABLE: await engine.newTable(), FHIR_STATE_TABLE: await engine.newTable() },
      ...{ FHIR_SEARCH_ENDPOINT: 'http://127.0.0.1:9', FHIR_SEARCH_SIGNING: 'none', AWS_ENDPOINT_URL_DYNAMODB: engine.endpoint },
      ...{ AWS_REGION: 'us-east-1', AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' },
    })
    await migrate({})
    await indexState().change((state) => addIndices(withIdentity(state, 'one'), ['Patient'], 'one'))
    const [first, second, third] = [10 * HOUR, 10 * HOUR + MINUTE, 10 * HOUR + 2 * MINUTE]
    await follow(beat(1, first, first - MINUTE), beat(2, first, first - MINUTE))
    await follow(beat(1, second, first), beat(1, second, first))
    const printed = jest.spyOn(console, 'error').mockReturnValue()
    expect(await follow(beat(2, second, first), unreadable, beat(1, third, second))).toEqual(['bad'])
    expect(printed.mock.calls.join()).toContain('"requestId":"bad"')
    printed.mockClear()
    expect(await arrived()).toEqual({ 1: second, 2: second })
    await follow(beat(1, third, second), beat(2, third, second))
    expect(await behind()).toEqual({})

    await follow(beat(2, third + 2 * MINUTE, third + MINUTE))
    const { extraction, rebuilds } = (await indexState().read()).value
    expect(await behind()).toEqual({ Patient: { extraction, since: third - HOUR } })
    expect(rebuilds.map(({ type, tenant }) => [type, tenant])).toEqual([['Patient', '']])
    expect(printed).not.toHaveBeenCalled()
  })
})
