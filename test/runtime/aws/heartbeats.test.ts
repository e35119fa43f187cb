/** Heartbeats on AWS, on an emulator of DynamoDB with a stream. */
import { beforeAll, describe, expect, it, jest } from '@jest/globals'
import { DynamoDbSharedState } from '../../../lambdas/adapters/dynamodb/rows/shared-state.ts'
import { heartbeatItem } from '../../../lambdas/adapters/dynamodb/stream/heartbeat.ts'
import { beatsOf, NO_HEARTBEAT } from '../../../lambdas/indexing/stream/heartbeat.ts'
import { Heartbeats } from '../../../lambdas/runtime/aws/heartbeats.ts'
import { resourceTable, stateTable } from '../../../lambdas/runtime/aws/ports.ts'
import { beatSender } from '../../../lambdas/runtime/aws/table-index-lag.ts'
import { runAtEnd } from '../../fixtures/at-end.ts'
import { runOnDynamo } from '../../fixtures/dynamodb/on-dynamo.ts'
import { createStreamedTable } from '../../fixtures/dynamodb/streamed-table.ts'

await runOnDynamo((engine) => {
  runAtEnd(() => engine.stop())

  const told: number[] = []
  const heartbeats = () =>
    new Heartbeats({
      tell: async (sent) => {
        told.push(sent)
        return { Patient: { identity: 'one', sent } }
      },
      missed: (since) => Promise.reject(new Error(`missed since ${since}`)),
    })
  const shown = async (place: number) => {
    const { pk, sk } = heartbeatItem({ place, of: 64, sent: 0 })
    return resourceTable().get({ pk, sk })
  }

  beforeAll(async () => {
    Object.assign(process.env, {
      ...(await createStreamedTable(engine)),
      ...{ FHIR_STATE_TABLE: await engine.newTable(), AWS_ENDPOINT_URL_DYNAMODB: engine.endpoint },
      ...{ FHIR_STREAM_PARALLELIZATION: '3', AWS_REGION: 'us-east-1', AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' },
    })
  })

  describe('A heartbeat', () => {
    it('has 24 beats for each batch that Lambda processes of a shard at the same time', async () => {
      jest.spyOn(console, 'log').mockReturnValue()
      const printed = jest.spyOn(console, 'error').mockReturnValue()
      const { state, measuring } = await heartbeats().send(1_000_000)
      await measuring
      // One shard, in three parts.
      expect([state.beats, (await shown(71))?.sent, await shown(72)]).toEqual([72, 1_000_000, undefined])
      await heartbeats().follow(beatsOf(1_000_000, 72))
      expect(told).toEqual([1_000_000])
      expect(printed).not.toHaveBeenCalled()
    })

    it('is not sent in the next minute unless something was written', async () => {
      await heartbeats().send(1_060_000)
      expect((await shown(71))?.sent).toBe(1_000_000)
    })
  })

  it('A failed report of missing versions is repeated, and counts from its own time', async () => {
    const begun = Date.now()
    const printed = jest.spyOn(console, 'error').mockReturnValue()
    await heartbeats().follow(beatsOf(1_500_000, 72).map((each) => ({ ...each, before: 1_200_000 })))
    expect(printed.mock.calls.join()).toContain('at missed ')
    const missed: number[] = []
    await new Heartbeats({ tell: async () => ({}), missed: async (since) => void missed.push(since) }).collect()
    const { value } = await new DynamoDbSharedState(stateTable(), 'PULSE', NO_HEARTBEAT).read()
    expect([missed, value.toldAt]).toEqual([[1_000_000 - 3_600_000], expect.any(Number)])
    expect(value.toldAt).toBeGreaterThanOrEqual(begun)
  })

  it('The beats of a large table are sent and measured in slices', async () => {
    const printed = jest.spyOn(console, 'log').mockReturnValue()
    const sender = beatSender()
    await sender.send(beatsOf(2_000_000, 1_000))
    await sender.logLag(2_000_000)
    expect((await shown(999))?.sent).toBe(2_000_000)
    expect(JSON.parse(String(printed.mock.calls.at(-1)![0]))).toMatchObject({ TableIndexLag: [expect.any(Number)] })
  })
})
