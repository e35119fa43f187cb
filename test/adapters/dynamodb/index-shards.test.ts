/** A type whose number of index partitions changes: reads meanwhile, estimates afterwards, and the queries of a page. */
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { expect, it } from '@jest/globals'
import { COMMITTED_RESULT as COMMITTED } from '../../../lambdas/adapters/dynamodb/commit/commit-parts.ts'
import type { DynamoDbResourceStore } from '../../../lambdas/adapters/dynamodb/store/resource-store.ts'
import type { HistoryPosition, ResourceVersion } from '../../../lambdas/ports/store/resource-store.ts'
import type { DynamoEngine } from '../../engines/dynoxide.ts'
import { collect } from '../../fixtures/collect.ts'
import { runOnTable } from '../../fixtures/dynamodb/on-dynamo.ts'
import { newTenant, type TestTable } from '../../fixtures/dynamodb/store.ts'
import { instantAt, patientKeyOf, resourceKeyOf, writeOf } from '../../fixtures/versions.ts'

await runOnTable(suite)

type Names = readonly string[]

const namesOf = (versions: readonly ResourceVersion[]): Names => versions.map(({ id, versionId }) => `${id}/${versionId}`)

async function* historyPages(store: DynamoDbResourceStore, tenant: string, limit: number): AsyncGenerator<Names> {
  let after: HistoryPosition | undefined
  for (let hasMore = true; hasMore; ) {
    const { versions, more } = await store.history({ tenant, type: 'Patient' }, {}, after, limit)
    yield namesOf(versions)
    after = versions.at(-1)
    hasMore = more
  }
}

async function* scanPages(store: DynamoDbResourceStore, tenant: string, limit: number): AsyncGenerator<Names> {
  for await (const { versions } of store.scan({ tenant, type: 'Patient', asOf: instantAt(1), limit })) yield namesOf(versions)
}

function suite(engine: DynamoEngine, table: TestTable): void {
  /** A store that counts its queries of the index by partition, and how many run at the same time. */
  function countingStore() {
    const queries: string[] = []
    let [running, most] = [0, 0]
    type Command = {
      readonly input: { readonly IndexName?: string; readonly ExpressionAttributeValues?: Readonly<Record<string, unknown>> }
    }
    const send = async (command: Command, options: object): Promise<unknown> => {
      const partition = command.input.ExpressionAttributeValues?.[':gpk']
      if (command.input.IndexName === undefined || typeof partition !== 'string') return engine.client.send(command as never, options)
      queries.push(partition)
      most = Math.max(most, ++running)
      return engine.client.send(command as never, options).finally(() => running--)
    }
    const store = table.store({ client: { send } as unknown as DynamoDBDocumentClient })
    return { store, queries, most: () => most }
  }

  const patientsOf = (tenant: string, count: number) => [...Array(count).keys()].map((n) => patientKeyOf(`p${n}`, tenant))

  it.each([
    ['single writes', { size: 1, mostActions: 100 }],
    ['transactions', { size: 20, mostActions: 100 }],
    ['large transactions, which stage their versions', { size: 20, mostActions: 4 }],
  ])('Pages return each version once while a type has 1, 4, 32 and again 4 partitions: %s', async (_, { size, mostActions }) => {
    const tenant = newTenant()
    const keys = patientsOf(tenant, 60)
    const commitAll = async (shards: number, expected: number): Promise<void> => {
      const store = table.store({ shards: () => shards, mostActions })
      const writes = keys.map((key) => writeOf(key, { expected, lastUpdated: instantAt(expected) }))
      for (let at = 0; at < writes.length; at += size) expect(await store.commit(writes.slice(at, at + size), [])).toEqual(COMMITTED)
    }
    const of = (...versions: readonly number[]): Names => keys.flatMap(({ id }) => versions.map((each) => `${id}/${each}`)).toSorted()
    await commitAll(1, 0)
    await commitAll(1, 1)
    const [history, scan] = [historyPages(table.store(), tenant, 25), scanPages(table.store(), tenant, 13)]
    const [seen, scanned]: [string[], string[]] = [[], []]
    for (const [n, shards] of [4, 32, 4].entries()) {
      seen.push(...(await history.next()).value)
      scanned.push(...(await scan.next()).value)
      await commitAll(shards, n + 2)
    }
    // Later versions are newer than the position of the client, so it never reads them.
    expect([...seen, ...(await collect(history)).flat()].toSorted()).toEqual(of(1, 2))
    expect([...scanned, ...(await collect(scan)).flat()].toSorted()).toEqual(of(2))
    expect((await collect(historyPages(table.store(), tenant, 1_000))).flat().toSorted()).toEqual(of(1, 2, 3, 4, 5))
  })

  it('The extent of a scan is exact, and its parts are even, after a type grew from 1 to 32 partitions', async () => {
    const tenant = newTenant()
    const keys = patientsOf(tenant, 3_000)
    for (const [n, key] of keys.entries())
      if (n % 100 === 0) {
        const shards = n < 2_000 ? 1 : 32
        const writes = keys.slice(n, n + 100).map((each, i) => writeOf(each, { lastUpdated: instantAt(n + i) }))
        expect([key.id, await table.store({ shards: () => shards, mostActions: 100 }).commit(writes, [])]).toEqual([key.id, COMMITTED])
      }
    const request = { tenant, type: 'Patient', asOf: instantAt(3_000) }
    const { entries, cuts } = await table.store().extent(request, 1_500)
    expect(entries).toBe(3_000)
    const ends = [...cuts.map((cut) => (cut - instantAt(0)) / 1_000), 3_000]
    const parts = ends.map((end, i) => end - (ends[i - 1] ?? 0))
    expect(parts.filter((each) => each < 1_200 || each > 1_800)).toEqual([])
    expect(parts).toHaveLength(2)
  })

  it('A page of a type queries each partition at most twice, 32 in parallel', async () => {
    const tenant = newTenant()
    const keys = patientsOf(tenant, 200)
    for (const [at, shards] of [
      [0, 1],
      [100, 32],
    ] as const)
      await table.store({ shards: () => shards, mostActions: 100 }).commit(
        keys.slice(at, at + 100).map((key) => writeOf(key)),
        [],
      )
    const { store, queries, most } = countingStore()
    const { versions, more } = await store.history({ tenant, type: 'Patient' }, {}, undefined, 100)
    expect([versions.length, more]).toEqual([100, true])
    const counts = Map.groupBy(queries, (partition) => partition)
    expect([counts.size, Math.max(...[...counts.values()].map(({ length }) => length)), most()]).toEqual([64, 1, 32])
  })

  it('A page of a system history of 300 partitions takes 600 queries', async () => {
    const tenant = newTenant()
    for (let n = 0; n < 30; n++) {
      const writes = [...Array(20).keys()].map((i) =>
        writeOf(resourceKeyOf(tenant, `Type${n}`, `r${i}`), { lastUpdated: instantAt(20 * n + i) }),
      )
      await table.store({ shards: () => 10, mostActions: 100 }).commit(writes, [])
    }
    const { store, queries } = countingStore()
    const { versions } = await store.history({ tenant }, {}, undefined, 100)
    expect([versions.length, new Set(queries).size, queries.length]).toEqual([100, 600, 600])
  })

  it('A history reads a partition again only when its entries are used up', async () => {
    const tenant = newTenant()
    const keys = patientsOf(tenant, 1_000)
    for (let at = 0; at < 1_000; at += 100)
      await table.store({ mostActions: 100 }).commit(
        keys.slice(at, at + 100).map((key) => writeOf(key)),
        [],
      )
    for (let n = 0; n < 30; n++)
      await table.store({ shards: () => 10 }).commit([writeOf(resourceKeyOf(tenant, `Type${n}`, 'r'), { lastUpdated: instantAt(-1) })], [])
    const { store, queries } = countingStore()
    const { versions } = await store.history({ tenant }, {}, undefined, 1_000)
    expect([versions.length, queries.filter((partition) => partition.includes('#Type')).length]).toEqual([1_000, 600])
    expect(queries.filter((partition) => partition.includes('#Patient')).length).toBeLessThanOrEqual(6)
  })
}
