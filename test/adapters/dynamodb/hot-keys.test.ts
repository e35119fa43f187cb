/** Load of each partition key at 10,000 writes per second (fixtures/dynamodb/key-load.ts). */
import { expect, it } from '@jest/globals'
import { DynamoDbRows } from '../../../lambdas/adapters/dynamodb/rows/rows.ts'
import { DynamoDbSharedState } from '../../../lambdas/adapters/dynamodb/rows/shared-state.ts'
import { heartbeatItem } from '../../../lambdas/adapters/dynamodb/stream/heartbeat.ts'
import { TableClient } from '../../../lambdas/adapters/dynamodb/table-client.ts'
import { resourceTypes } from '../../../lambdas/fhir/resource-types.ts'
import { beatsOf, followHeartbeat, NO_HEARTBEAT, sendHeartbeat } from '../../../lambdas/indexing/stream/heartbeat.ts'
import { DEFAULT_SHARDS } from '../../../lib/settings/index-shards.ts'
import { randomOf } from '../../contracts/generated-search.ts'
import { type KeyUse, observedClient } from '../../fixtures/dynamodb/capacity.ts'
import { countedTable } from '../../fixtures/dynamodb/counted-table.ts'
import { aboveBars, CLIENTS, HEARTBEAT, heaviestSeconds, LIMITS } from '../../fixtures/dynamodb/key-load.ts'
import { TestClock } from '../../fixtures/dynamodb/store.ts'
import { heartbeatParts } from '../../fixtures/heartbeats.ts'
import { caseCountOf } from '../../fixtures/long-runs.ts'
import { ShardedStream } from '../../fixtures/sharded-stream.ts'

const SHARDS = 300

it('At 10,000 writes per second no key has more than 700 write or 2,000 read units', async () => {
  const units = await heaviestSeconds({ ...DEFAULT_SHARDS, Observation: 32 }, caseCountOf(10_000, 60_000))
  // The bars mean nothing if the meter misses a part.
  const found = (pattern: RegExp): number => [...units.keys()].filter((key) => pattern.test(key)).length
  expect([found(/^write index north#Observation#c#/), found(/^write index north#Observation#h#/)]).toEqual([32, 32])
  expect([found(/^write table AUDIT#/), found(/^write table #PULSE/), found(/^read table DEFINITIONS/)]).toEqual([64, HEARTBEAT, 1])
  expect([found(/^read table REVOKED#/), found(/ table #TENANTS/), found(/ table north#CFG/)]).toEqual([CLIENTS, 1, 2])
  expect(aboveBars(units)).toEqual([])
})

it('No key has more while 300 shards deliver their beats in one second', async () => {
  const clock = new TestClock(Date.UTC(2031, 0, 1))
  const stream = new ShardedStream(SHARDS, randomOf(1))
  const units = new Map<string, number>()
  const client = observedClient(countedTable(), (use: KeyUse) => {
    const name = `${use.kind} ${use.of} ${use.key}`
    units.set(name, (units.get(name) ?? 0) + use.units)
  })
  const state = new TableClient(client, 'state', LIMITS)
  const told: number[] = []
  const parts = heartbeatParts({
    state: new DynamoDbSharedState(state, 'PULSE', NO_HEARTBEAT),
    rows: new DynamoDbRows(state),
    newId: () => clock.newId(),
    partitions: async () => SHARDS,
    send: (beats) => new TableClient(client, 'resources', LIMITS).putAll(beats.map(heartbeatItem)),
    async tell(sent) {
      told.push(sent)
      return Object.fromEntries(resourceTypes.map((type) => [type, { identity: clock.newId().slice(-12), sent }]))
    },
  })
  const minutes = [1, 2, 3].map((minute) => clock.now() + minute * 60_000)
  for (const sent of minutes) {
    units.clear()
    const { beats = 0 } = await sendHeartbeat(parts, sent)
    const shards = Map.groupBy(beatsOf(sent, beats), (beat) => stream.shardOf(heartbeatItem(beat).pk))
    // Each shard has two batches, in another order each time.
    for (let batch = 0; batch < 2 * SHARDS; batch++) {
      const of = shards.get((batch * 7 + sent) % SHARDS)!
      const half = Math.ceil(of.length / 2)
      await followHeartbeat(parts, batch < SHARDS ? of.slice(0, half) : of.slice(half), sent)
    }
    expect(aboveBars(units)).toEqual([])
  }
  expect([told, [...units.keys()].filter((key) => key.startsWith('write table PULSE_BEATS')).length]).toEqual([minutes, 10])
})

it('With four index partitions for Observation their keys have more', async () => {
  const hot = aboveBars(await heaviestSeconds(DEFAULT_SHARDS, 10_000)).map((each) => each.replace(/: \d+$/, ''))
  expect(hot).toEqual(expect.arrayContaining([0, 1, 2, 3].map((n) => `write index north#Observation#c#${n}`)))
})
