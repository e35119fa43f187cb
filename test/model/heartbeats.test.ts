/** Units of the model for arriving beats, against the store. The stream delivers those together that are written at once to a partition. */
import { createHash } from 'node:crypto'
import { expect, it } from '@jest/globals'
import { DynamoDbRows } from '../../lambdas/adapters/dynamodb/rows/rows.ts'
import { DynamoDbSharedState } from '../../lambdas/adapters/dynamodb/rows/shared-state.ts'
import { heartbeatItem } from '../../lambdas/adapters/dynamodb/stream/heartbeat.ts'
import { TableClient } from '../../lambdas/adapters/dynamodb/table-client.ts'
import { followHeartbeat, type HeartbeatState, NO_HEARTBEAT, sendHeartbeat } from '../../lambdas/indexing/stream/heartbeat.ts'
import { BEATS_AT_ONCE, type ShardHeartbeat } from '../../lambdas/ports/search/heartbeat.ts'
import { DEFAULT_MIX } from '../../lib/model/load.ts'
import { unitsOf } from '../../lib/model/table-load.ts'
import { observedClient } from '../fixtures/dynamodb/capacity.ts'
import { countedTable } from '../fixtures/dynamodb/counted-table.ts'
import { heartbeatParts } from '../fixtures/heartbeats.ts'
import { caseCountOf } from '../fixtures/long-runs.ts'

/** Units of a heartbeat itself: its state, and lists of the rows. */
const OTHERS = 30

it.each([4, 40, caseCountOf(100, 300)])('The model predicts the units of the arrivals from %d partitions', async (partitions) => {
  const used = { read: 0, write: 0 }
  const table = new TableClient(
    observedClient(countedTable(), ({ kind, units }) => {
      used[kind] += units
    }),
    'state',
    { attempts: 1, patience: 60_000 },
  )
  const sent: ShardHeartbeat[] = []
  const parts = heartbeatParts({
    rows: new DynamoDbRows(table),
    state: new DynamoDbSharedState<HeartbeatState>(table, 'PULSE', NO_HEARTBEAT),
    partitions: async () => partitions,
    send: async (beats) => void sent.push(...beats),
    tell: async () => ({}),
  })
  const partitionOf = (beat: ShardHeartbeat): number =>
    createHash('sha256')
      .update(String(heartbeatItem(beat).pk))
      .digest()
      .readUInt32BE() % partitions
  // The first heartbeat has no beats before it, and moves to more rows.
  for (const minute of [1, 2]) {
    await sendHeartbeat(parts, minute * 60_000)
    Object.assign(used, { read: 0, write: 0 })
    for (let at = 0; at < sent.length; at += BEATS_AT_ONCE)
      for (const batch of Map.groupBy(sent.slice(at, at + BEATS_AT_ONCE), partitionOf).values()) await followHeartbeat(parts, batch, 0)
    sent.length = 0
  }
  const load = { resources: 0, writes: 0, reads: 0, searches: 0, mix: DEFAULT_MIX }
  const { reads, writes } = unitsOf(load, partitions).state
  const predicted = [reads * 60, writes * 60]
  const differences = [used.read, used.write].map((units, i) => Math.abs(units - predicted[i]!) - Math.max(OTHERS, predicted[i]! / 10))
  expect([differences.every((each) => each <= 0), used.read > 2 * partitions]).toEqual([true, true])
})
