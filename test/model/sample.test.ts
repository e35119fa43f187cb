/**
 * The model against the store: all resources of the sample are written, and every second one is updated, as in the default mix. The model
 * gets the numbers of resources and requests. Its units and bytes differ by at most a tenth.
 */
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { describe, expect, it } from '@jest/globals'
import { COMMITTED_RESULT } from '../../lambdas/adapters/dynamodb/commit/commit-parts.ts'
import { DynamoDbAuditLog } from '../../lambdas/adapters/dynamodb/rows/audit-log.ts'
import { DynamoDbIdentifierRows, writerWithRows } from '../../lambdas/adapters/dynamodb/store/identifier-rows.ts'
import { DynamoDbResourceStore } from '../../lambdas/adapters/dynamodb/store/resource-store.ts'
import { TableClient } from '../../lambdas/adapters/dynamodb/table-client.ts'
import { compartmentsOf } from '../../lambdas/fhir/compartment.ts'
import { stampResource } from '../../lambdas/fhir/version.ts'
import type { BlobStore } from '../../lambdas/ports/blobs/blob-store.ts'
import { identifiersOf } from '../../lambdas/search/documents/identifiers.ts'
import { DEFAULT_MIX, type Mix } from '../../lib/model/load.ts'
import { MEAN_SIZES, SAMPLE_SIZES, sizesOf } from '../../lib/model/sample-sizes.ts'
import { IDENTIFIER_BYTES, storedOf, unitsOf } from '../../lib/model/table-load.ts'
import { DEFAULT_SHARDS } from '../../lib/settings/index-shards.ts'
import { readData } from '../fixtures/count-synthea.ts'
import { itemSizeOf, observedClient } from '../fixtures/dynamodb/capacity.ts'
import { countedTable } from '../fixtures/dynamodb/counted-table.ts'
import { TestClock } from '../fixtures/dynamodb/store.ts'
import { measureSample } from '../infra/stored-items.ts'

/** Bytes that DynamoDB adds to each item, and to each item of an index. */
const OVERHEAD = 100
const LIMITS = { attempts: 1, patience: 60_000 }
const CLIENT = { client: 'app', scopes: 'system/*.cruds' }

type Item = Readonly<Record<string, unknown>>

/** A client that retains the items that it puts into a table. */
function retainingClient(client: DynamoDBDocumentClient, name: string) {
  const items = new Map<string, Item>()
  const put = (item: Item): void => void items.set(`${item.pk}\n${item.sk}`, item)
  const send = async (command: { readonly input: Readonly<Record<string, never>> }): Promise<unknown> => {
    const { Item, TableName, RequestItems = {} } = command.input as { Item?: Item; TableName?: string; RequestItems?: object }
    if (Item !== undefined && TableName === name) put(Item)
    const batch = (RequestItems as Readonly<Record<string, readonly { readonly PutRequest?: { readonly Item: Item } }[]>>)[name]
    if (Array.isArray(batch)) for (const { PutRequest } of batch) if (PutRequest !== undefined) put(PutRequest.Item)
    return client.send(command as never)
  }
  return { client: { send } as unknown as DynamoDBDocumentClient, items }
}

it('The model predicts the units and bytes of the sample within a tenth', async () => {
  const clock = new TestClock(Date.UTC(2031, 0, 1))
  const used = { table: { read: 0, write: 0 }, index: { read: 0, write: 0 } }
  const { client, items } = retainingClient(
    observedClient(countedTable(), ({ kind, of, units }) => {
      used[of][kind] += units
    }),
    'resources',
  )
  const state = { read: 0, write: 0 }
  const store = writerWithRows(
    new DynamoDbResourceStore({
      ...{ client, clock, table: 'resources', blobs: {} as BlobStore, shards: (type: string) => DEFAULT_SHARDS[type] ?? 1 },
    }),
    new DynamoDbIdentifierRows(new TableClient(client, 'resources', LIMITS), clock),
  )
  const audit = new DynamoDbAuditLog({
    dynamo: new TableClient(
      observedClient(countedTable(), ({ kind, units }) => {
        state[kind] += units
      }),
      'state',
      LIMITS,
    ),
    ...{ retentionDays: 90, durability: 'strict', newId: () => clock.newId() },
    onError: (error) => {
      throw error
    },
  })
  const { all } = readData('test/fixtures/sample')
  let [json, writes] = [0, 0]
  for (const [i, resource] of all.entries())
    for (const expected of i % 2 === 0 ? [0, 1] : [0]) {
      const { resourceType: type, id } = resource
      const stamped = stampResource(resource, id, expected + 1, clock.now())
      const body = Buffer.from(JSON.stringify(stamped))
      const key = { tenant: 'default', type, id }
      const write = { ...key, expected, lastUpdated: clock.now(), deleted: false, made: 'update' as const, body }
      const identifiers = expected === 0 ? identifiersOf(type, resource) : []
      const whole = { ...write, identifiers, compartments: compartmentsOf(stamped, {}) }
      expect(await store.commit([whole], [])).toEqual(COMMITTED_RESULT)
      const record = { at: clock.now(), requestId: String(++writes), tenant: 'default', interaction: 'update', status: 200, duration: 20 }
      await audit.record({ ...record, ...CLIENT, key: `${type}/${id}`, patients: ['Patient/00000000-0000-4000-8000-000000000000'] })
      json += body.length
      clock.ahead++
    }
  const counts = Object.groupBy(all, ({ resourceType }) => resourceType)
  const types = Object.fromEntries(Object.entries(counts).map(([type, some]) => [type, some!.length / all.length]))
  const mix: Mix = { ...DEFAULT_MIX, types }
  const load = { resources: all.length, writes, reads: 0, searches: 0, mix }
  const stored = [...items.values()].filter(({ gpk }) => gpk !== undefined)
  const rows = [...items.values()].filter(({ sk }) => String(sk).startsWith('I#'))
  const bytes = (some: readonly Item[], names = (item: Item): Item => item): number =>
    some.reduce((sum, item) => sum + itemSizeOf(names(item)) + OVERHEAD, 0) / 1e9
  const measured = {
    table: { writes: used.table.write, reads: used.table.read },
    index: { writes: used.index.write },
    state: { writes: state.write },
    stored: {
      json: json / 1e9,
      table: bytes([...stored, ...rows]),
      index: bytes(stored, ({ pk, sk, gpk, gsk, sup }) => ({ pk, sk, gpk, gsk, sup })),
    },
  }
  expect(Math.round((bytes(rows) * 1e9) / rows.length)).toBe(IDENTIFIER_BYTES)
  expect(writes).toBe(Math.ceil(all.length * DEFAULT_MIX.versions))
  expect(stored).toHaveLength(writes)
  expect(differences({ ...unitsOf(load), stored: storedOf(load) }, measured)).toEqual([])
})

describe('Sizes of the sample', () => {
  const types = [...new Set(readData('test/fixtures/sample').all.map(({ resourceType }) => resourceType))].toSorted()

  it('are of all its types', () => expect(Object.keys(SAMPLE_SIZES)).toEqual(types))

  it.each([...types, undefined])('are measured again: %s', async (type) => {
    const { count, json, table, index, units, identifiers } = await measureSample(...(type === undefined ? [] : [type]))
    const [jsonMean, tableMean, indexMean] = [json, table, index].map((bytes) => Math.round(bytes / count))
    expect(type === undefined ? MEAN_SIZES : sizesOf(type)).toEqual({
      ...{ json: jsonMean, table: tableMean, index: indexMean, units: Number((units / count).toFixed(2)) },
      identifiers: Number((identifiers / count).toFixed(2)),
    })
  })

  it('are the mean for a type that the sample lacks', () => expect(sizesOf('Basic')).toBe(MEAN_SIZES))
})

type Numbers = Readonly<Record<string, Readonly<Record<string, number>>>>

/** Returns the numbers that differ by more than a tenth. */
const differences = (model: Numbers, measured: Numbers): readonly string[] =>
  Object.entries(measured).flatMap(([part, values]) =>
    Object.entries(values).flatMap(([name, value]) => {
      const predicted = model[part]![name]!
      return Math.abs(predicted / value - 1) <= 0.1 ? [] : [`${part}.${name}: ${predicted} predicted, ${value} measured`]
    }),
  )
