/** The check of the health on AWS, on an emulator of DynamoDB. */
import { afterAll, describe, expect, it } from '@jest/globals'
import { DynamoDbSharedRows } from '../../../lambdas/adapters/dynamodb/rows/shared-rows.ts'
import { DynamoDbSharedState } from '../../../lambdas/adapters/dynamodb/rows/shared-state.ts'
import { heartbeatItem } from '../../../lambdas/adapters/dynamodb/stream/heartbeat.ts'
import { TableClient } from '../../../lambdas/adapters/dynamodb/table-client.ts'
import { markLost } from '../../../lambdas/indexing/lifecycle/serving-indices.ts'
import { openIndexState } from '../../../lambdas/indexing/lifecycle/shared-index-state.ts'
import { NO_STORED_STATE } from '../../../lambdas/indexing/lifecycle/stored-state.ts'
import { followHeartbeat, NO_HEARTBEAT, sendHeartbeat } from '../../../lambdas/indexing/stream/heartbeat.ts'
import type { ShardHeartbeat } from '../../../lambdas/ports/search/heartbeat.ts'
import { checkTables } from '../../../lambdas/runtime/aws/health.ts'
import { runOnDynamo } from '../../fixtures/dynamodb/on-dynamo.ts'
import { heartbeatParts } from '../../fixtures/heartbeats.ts'

const NOW = 1_000_000
const LIMITS = { attempts: 1, patience: 60_000 }

await runOnDynamo(async (engine) => {
  afterAll(() => engine.stop())

  async function openTables() {
    const [resources, state] = [await engine.newTable(), await engine.newTable()].map(
      (name) => new TableClient(engine.client, name, LIMITS),
    )
    const heartbeats = new DynamoDbSharedState(state!, 'PULSE', NO_HEARTBEAT)
    const indices = openIndexState(new DynamoDbSharedRows(state!, 'DEFINITIONS', NO_STORED_STATE), () => NOW)
    const sent: ShardHeartbeat[] = []
    const send = async (beats: readonly ShardHeartbeat[]): Promise<void> => {
      sent.push(...beats)
      await resources!.putAll(beats.map(heartbeatItem))
    }
    const tell = async (at: number) => ({ Patient: { identity: 'one', sent: at } })
    const parts = heartbeatParts({ state: heartbeats, send, tell })
    return {
      ...{ resources: resources!, state: state!, indices },
      send: () => sendHeartbeat(parts, NOW),
      follow: () => followHeartbeat(parts, sent, NOW),
      check: (now = NOW) => checkTables(resources!, state!, now),
    }
  }

  describe('The check', () => {
    it('finds the index working after its first heartbeat', async () => {
      const { send, follow, check } = await openTables()
      expect(await check()).toEqual({ isWorking: false, lag: 0 })
      await send()
      expect(await check(NOW + 30_000)).toEqual({ isWorking: false, lag: 30 })
      await follow()
      expect(await check(NOW + 30_000)).toEqual({ isWorking: true, lag: 30 })
    })

    it('finds a lost index', async () => {
      const { send, follow, check, indices } = await openTables()
      await send()
      await follow()
      await indices.change((state) => ({ ...state, identity: 'one', types: { Patient: { identity: 'one' } } }))
      expect(await check()).toEqual({ isWorking: true, lag: 0 })
      await indices.change((state) => markLost(state, { Patient: 'one' }, 'two'))
      expect(await check()).toEqual({ isWorking: false, lag: 0 })
    })

    it('fails if one of the tables does not respond', async () => {
      const { resources, state } = await openTables()
      const missing = new TableClient(engine.client, 'missing', LIMITS)
      await expect(checkTables(missing, state, NOW)).rejects.toThrow()
      await expect(checkTables(resources, missing, NOW)).rejects.toThrow()
    })
  })
})
