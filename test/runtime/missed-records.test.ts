/** Records that never came through the stream, on an emulator: the indexer detects them by the beats that should have come with them. */

import { expect, it, jest } from '@jest/globals'
import { DynamoDbRows } from '../../lambdas/adapters/dynamodb/rows/rows.ts'
import { DynamoDbSharedState } from '../../lambdas/adapters/dynamodb/rows/shared-state.ts'
import { heartbeatItem } from '../../lambdas/adapters/dynamodb/stream/heartbeat.ts'
import type { StreamRecord } from '../../lambdas/adapters/dynamodb/stream/stream.ts'
import { addIndices, withIdentity } from '../../lambdas/indexing/lifecycle/serving-indices.ts'
import { encode } from '../../lambdas/indexing/lifecycle/stored-state.ts'
import { latestHeartbeatOf, NO_HEARTBEAT } from '../../lambdas/indexing/stream/heartbeat.ts'
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
    const { pk, sk } = heartbeatItem({ place, of: 64, sent })
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
  const all = (sent: number, before: number) => Array.from({ length: 64 }, (_, place) => beat(place, sent, before))
  const latest = async () => latestHeartbeatOf((await new DynamoDbSharedState(stateTable(), 'PULSE', NO_HEARTBEAT).read()).value)
  const rows = async () => {
    const found: unknown[] = []
    for await (const { value } of new DynamoDbRows(stateTable()).list('PULSE_BEATS')) found.push(value)
    return found
  }
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
    // OpenSearch does not respond, so the heartbeat is written to no index, and an error is logged.
    const printed = jest.spyOn(console, 'error').mockReturnValue()
    await follow(...all(first, first - MINUTE))
    await follow(...all(second, first), ...all(second, first))
    expect([await latest(), await rows()]).toEqual([second, []])
    printed.mockClear()
    expect(await follow(beat(2, third, second), unreadable, beat(1, third, second))).toEqual(['bad'])
    expect(printed.mock.calls.join()).toContain('"requestId":"bad"')
    printed.mockClear()
    expect([await latest(), await rows()]).toEqual([second, [[{ of: 64, sent: third, before: second, places: '2' }]]])
    await follow(...all(third, second))
    expect([await latest(), await rows(), await behind()]).toEqual([third, [], {}])
    printed.mockClear()
    // The state table does not respond. Lambda delivers the batch again, so no beat is missing later.
    const fourth = third + 30_000
    const change = jest.spyOn(DynamoDbRows.prototype, 'change').mockRejectedValueOnce(new Error('down'))
    await expect(follow(...all(fourth, third))).rejects.toThrow('down')
    change.mockRestore()
    await follow(...all(fourth, third))
    await follow(...all(third + MINUTE, fourth))
    expect([await latest(), await behind()]).toEqual([third + MINUTE, {}])
    printed.mockClear()

    await follow(beat(2, third + 3 * MINUTE, third + 2 * MINUTE))
    await follow(...all(third + 3 * MINUTE, third + 2 * MINUTE))
    const { extraction, rebuilds } = (await indexState().read()).value
    expect(await behind()).toEqual({ Patient: { extraction, since: third + MINUTE - HOUR } })
    expect(rebuilds.map(({ type, tenant }) => [type, tenant])).toEqual([['Patient', '']])
    expect(printed).not.toHaveBeenCalled()
  })
})
