/**
 * Load of each partition key while clients write 10,000 resources per second, in seconds of a simulated clock. DynamoDB accepts 1,000 write
 * and 3,000 read units per second of a key. The bars leave room for uneven loads.
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html
 */
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { expect, it } from '@jest/globals'
import { COMMITTED_RESULT } from '../../../lambdas/adapters/dynamodb/commit/commit-parts.ts'
import { DynamoDbAuditLog } from '../../../lambdas/adapters/dynamodb/rows/audit-log.ts'
import { revocationReader } from '../../../lambdas/adapters/dynamodb/rows/revocations.ts'
import { DynamoDbSharedState } from '../../../lambdas/adapters/dynamodb/rows/shared-state.ts'
import { DynamoDbResourceStore } from '../../../lambdas/adapters/dynamodb/store/resource-store.ts'
import { heartbeatItem } from '../../../lambdas/adapters/dynamodb/stream/heartbeat.ts'
import { TableClient } from '../../../lambdas/adapters/dynamodb/table-client.ts'
import { CachedSearchContexts } from '../../../lambdas/indexing/cached-search-contexts.ts'
import { NO_STORED_STATE, readerOf } from '../../../lambdas/indexing/lifecycle/stored-state.ts'
import { beatsOf } from '../../../lambdas/indexing/stream/heartbeat.ts'
import type { BlobStore } from '../../../lambdas/ports/blobs/blob-store.ts'
import type { Clock } from '../../../lambdas/ports/execution/clock.ts'
import type { RevocationKey } from '../../../lambdas/ports/rows/revocations.ts'
import type { AuditRecord } from '../../../lambdas/ports/security/audit-log.ts'
import type { ResourceKey } from '../../../lambdas/ports/store/resource-store.ts'
import { readConfig } from '../../../lambdas/runtime/config.ts'
import type { IndexShards } from '../../../lambdas/runtime/index-shards.ts'
import { searchContextOf } from '../../../lambdas/runtime/search-context.ts'
import { DEFAULT_SHARDS } from '../../../lib/settings/index-shards.ts'
import { type KeyUse, observedClient } from '../../fixtures/dynamodb/capacity.ts'
import { countedTable } from '../../fixtures/dynamodb/counted-table.ts'
import { TestClock } from '../../fixtures/dynamodb/store.ts'
import { caseCountOf } from '../../fixtures/long-runs.ts'
import { resourceKeyOf, writeOf } from '../../fixtures/versions.ts'

const PER_SECOND = 10_000
/** Containers of Lambda that write at the same time: each write takes about 25 ms. */
const PROCESSES = 250
const BARS = { write: 700, read: 2_000 } as const

/** Four of five resources are Observations, as in the model. The others are of nine types. */
const OTHER_TYPES = Object.keys(DEFAULT_SHARDS).filter((type) => type !== 'Observation')

const LIMITS = { attempts: 1, patience: 60_000 }
const CLIENTS = 10

/** Parts of a process that use a table for each write: the store, the index state, the revocations, and the audit log. */
function processOf(client: DynamoDBDocumentClient, clock: Clock, shards: IndexShards) {
  const [resources, state] = [`resources`, `state`].map((table) => new TableClient(client, table, LIMITS)) as [TableClient, TableClient]
  return {
    store: new DynamoDbResourceStore({
      ...{ client, clock, table: resources.table, blobs: {} as BlobStore, shards: (type: string) => shards[type] ?? 1 },
    }),
    contexts: new CachedSearchContexts(
      { read: readerOf(new DynamoDbSharedState(state, 'DEFINITIONS', NO_STORED_STATE)) },
      searchContextOf(readConfig({}), { baseUrl: 'https://fhir.example' }),
    ),
    revocations: revocationReader(state, () => clock.now()),
    audit: new DynamoDbAuditLog({
      ...{ dynamo: state, retentionDays: 90, durability: 'strict', newId: () => clock.newId() },
      onError: (error) => {
        throw error
      },
    }),
  }
}

/** Returns the most units of one second by kind and partition key, for `count` writes at PER_SECOND. Two of three are creates. */
async function heaviestSeconds(shards: IndexShards, count: number): Promise<ReadonlyMap<string, number>> {
  const clock = new TestClock(Date.UTC(2031, 0, 1))
  const uses = new Map<string, number>()
  const client = observedClient(countedTable(), ({ kind, of, key, units }: KeyUse) => {
    const name = `${kind} ${of} ${key} ${Math.floor(clock.now() / 1_000)}`
    uses.set(name, (uses.get(name) ?? 0) + units)
  })
  const processes = Array.from({ length: PROCESSES }, () => processOf(client, clock, shards))
  const written: ResourceKey[] = []
  for (let n = 0; n < count; n++) {
    clock.ahead = Math.floor((n * 1_000) / PER_SECOND)
    const { store, contexts, revocations, audit } = processes[n % PROCESSES]!
    await contexts.refresh(clock.now())
    // A process keeps the revocations of a token for three seconds.
    if (n % (3 * PER_SECOND) < PROCESSES) await revocations.revoked([`client ${n % CLIENTS}` as RevocationKey])
    if (n === PROCESSES) await new TableClient(client, 'resources', LIMITS).putAll(beatsOf(clock.now()).map(heartbeatItem))
    const type = n % 5 === 0 ? OTHER_TYPES[(n / 5) % OTHER_TYPES.length]! : 'Observation'
    const update = n % 3 === 2 ? written[n - 2] : undefined
    const key = update ?? resourceKeyOf('north', type, clock.newId())
    written.push(key)
    const write = writeOf(key, { expected: update === undefined ? 0 : 1, lastUpdated: clock.now(), body: new Uint8Array(700) })
    expect(await store.commit([write], [])).toEqual(COMMITTED_RESULT)
    const record: AuditRecord = { at: clock.now(), requestId: String(n), tenant: 'north', interaction: 'update', status: 200, duration: 20 }
    await audit.record({ ...record, key: `${key.type}/${key.id}`, client: `client ${n % CLIENTS}`, scopes: 'system/*.cruds' })
  }
  const byKey = new Map<string, number>()
  for (const [name, units] of uses) {
    const key = name.slice(0, name.lastIndexOf(' '))
    byKey.set(key, Math.max(units, byKey.get(key) ?? 0))
  }
  return byKey
}

const aboveBars = (units: ReadonlyMap<string, number>): readonly string[] =>
  [...units].flatMap(([key, most]) => (most > BARS[key.startsWith('write') ? 'write' : 'read'] ? [`${key}: ${most}`] : []))

it('At 10,000 writes per second no key has more than 700 write or 2,000 read units', async () => {
  const units = await heaviestSeconds({ ...DEFAULT_SHARDS, Observation: 32 }, caseCountOf(10_000, 60_000))
  // The bars mean nothing if the meter misses a part.
  const found = (pattern: RegExp): number => [...units.keys()].filter((key) => pattern.test(key)).length
  expect([found(/^write index north#Observation#c#/), found(/^write index north#Observation#h#/)]).toEqual([32, 32])
  expect([found(/^write table AUDIT#/), found(/^write table #PULSE#/), found(/^read table DEFINITIONS/)]).toEqual([64, 64, 1])
  expect([found(/^read table REVOKED#/), found(/ table #TENANTS/), found(/ table north#CFG/)]).toEqual([CLIENTS, 1, 2])
  expect(aboveBars(units)).toEqual([])
})

it('With four index partitions for Observation their keys have more', async () => {
  const hot = aboveBars(await heaviestSeconds(DEFAULT_SHARDS, 10_000)).map((each) => each.replace(/: \d+$/, ''))
  expect(hot).toEqual(expect.arrayContaining([0, 1, 2, 3].map((n) => `write index north#Observation#c#${n}`)))
})
