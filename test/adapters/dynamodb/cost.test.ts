/** Cost of the interactions on DynamoDB, in capacity units of the requests sent, including the index. */
import { randomBytes } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import type { ResourceKey } from '../../../lambdas/ports/store/resource-store.ts'
import type { DynamoEngine } from '../../engines/dynoxide.ts'
import { meteredClient } from '../../fixtures/dynamodb/capacity.ts'
import { withFaults } from '../../fixtures/dynamodb/faults.ts'
import { runOnTable } from '../../fixtures/dynamodb/on-dynamo.ts'
import { newTenant, type TestTable } from '../../fixtures/dynamodb/store.ts'
import { readAllVersions } from '../../fixtures/scans.ts'
import { deletionOf, instantAt, patientKeyOf, writeOf } from '../../fixtures/versions.ts'

await runOnTable(suite)

function suite(engine: DynamoEngine, table: TestTable): void {
  /** Random bytes: bodies are deflated, and these do not shrink. */
  const body = randomBytes(700)

  async function measured(tenant = newTenant()) {
    const meter = meteredClient(engine.client)
    const store = table.store({ client: meter.client, mostActions: 100 })
    await store.commit([writeOf(patientKeyOf('first', tenant), { body: 'the type is known from here on' })], [])
    meter.take()
    return { tenant, store, meter, key: (id: string): ResourceKey => patientKeyOf(id, tenant) }
  }

  describe('A resource of 1 KB', () => {
    it('costs 2 units to create, 5 to update, 5 to delete, and 1 to read', async () => {
      const { store, meter, key } = await measured()
      await store.commit([writeOf(key('a'), { body })], [])
      expect(meter.take()).toEqual({ read: 0, write: 2 })
      await store.commit([writeOf(key('a'), { expected: 1, body })], [])
      expect(meter.take()).toEqual({ read: 1, write: 5 })
      await store.current([key('a')])
      expect(meter.take()).toEqual({ read: 1, write: 0 })
      await store.versions([{ ...key('a'), versionId: 2 }])
      expect(meter.take()).toEqual({ read: 1, write: 0 })
      await store.versions([{ ...key('a'), versionId: 1 }])
      expect(meter.take()).toEqual({ read: 2, write: 0 })
      await store.commit([deletionOf(key('a'), { expected: 2 })], [])
      expect(meter.take()).toEqual({ read: 1, write: 5 })
    })

    it('costs 3 units in a small transaction', async () => {
      const { store, meter, key } = await measured()
      await store.commit(
        [...Array(10).keys()].map((n) => writeOf(key(`p${n}`), { body })),
        [],
      )
      expect(meter.take()).toEqual({ read: 0, write: 30 })
    })

    it('is read once by the parts of a scan, for any page size', async () => {
      const { tenant, store, meter, key } = await measured()
      const some = [...Array(60).keys()]
      await store.commit(
        some.map((n) => writeOf(key(`p${n}`), { body, lastUpdated: instantAt(10 + n) })),
        [],
      )
      const scan = { tenant, type: 'Patient', asOf: instantAt(100), since: instantAt(9) }
      meter.take()
      const { entries, cuts } = await store.extent(scan, 20)
      // The list of partitions, and three pages of the index.
      expect([entries, cuts.length, meter.take()]).toEqual([60, 2, { read: 1 + 3 * 0.5 + 0.5, write: 0 }])
      for (const limit of [2, 60])
        for (const [n, until] of [...cuts, instantAt(100)].entries()) {
          const since = cuts[n - 1] ?? instantAt(9)
          expect(await readAllVersions(store, { ...scan, since, until, limit })).toHaveLength(20)
          const { read } = meter.take()
          // Windows of the index, besides the versions.
          expect([limit, read - 20 <= 6]).toEqual([limit, true])
        }
    })

    it.each([
      [7, 9],
      [100, 2],
    ])('shares the reads of its page: a scan with limit %d takes %d calls', async (limit, batches) => {
      const calls: string[] = []
      const { tenant, store, key } = await measured()
      const some = [...Array(60).keys()]
      await store.commit(
        some.map((n) => writeOf(key(`p${n}`), { lastUpdated: instantAt(10 + n) })),
        [],
      )
      const counted = withFaults(engine.client, ({ name }) => void calls.push(name))
      const scan = { tenant, type: 'Patient', asOf: instantAt(100), since: instantAt(9), limit }
      expect(await readAllVersions(table.store({ client: counted }), scan)).toHaveLength(60)
      expect(calls.filter((name) => /Get$/.test(name))).toHaveLength(batches)
    })

    it('adds 1 unit to the cost of a page of history or of a scan', async () => {
      const { tenant, store, meter, key } = await measured()
      for (let n = 0; n < 10; n++) await store.commit([writeOf(key(`p${n}`), { body, lastUpdated: instantAt(1) })], [])
      meter.take()
      const { versions } = await store.history({ tenant, type: 'Patient' }, { since: instantAt(1) }, undefined, 10)
      // Partitions, lags and open transactions (before and after), current versions, and past versions.
      expect([versions.length, meter.take()]).toEqual([10, { read: 1 + 2 * (1 + 1) + 0.5 + 0.5 + 10, write: 0 }])
      const found = await readAllVersions(store, { tenant, type: 'Patient', asOf: instantAt(1), since: instantAt(0), limit: 10 })
      expect([found.length, meter.take()]).toEqual([10, { read: 1 + 0.5 + 0.5 + 10, write: 0 }])
    })
  })
}
