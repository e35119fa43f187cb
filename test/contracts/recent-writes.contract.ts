/** What lambdas/ports/store/recent-writes.ts promises, as tests. Each test works in a tenant of its own. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { RecentWrites } from '../../lambdas/ports/store/recent-writes.ts'
import type { ResourceWriter, Write } from '../../lambdas/ports/store/resource-store.ts'
import { fault } from '../fixtures/machine-fault.ts'

export type RecentWritesUnderTest = { readonly store: RecentWrites & ResourceWriter; readonly close: () => Promise<void> }

export function recentWritesContract(name: string, create: () => Promise<RecentWritesUnderTest>): void {
  let store: RecentWritesUnderTest['store']
  let close = async () => {}
  beforeAll(async () => {
    const created = await create()
    store = created.store
    close = created.close
  })
  afterAll(() => close())

  const commit = async (...writes: readonly Write[]) => expect(await store.commit(writes, [])).toEqual({ kind: 'committed' })
  const recent = async (tenant: string, { type = 'Patient', since = 0, most = 1_000 } = {}) => {
    const found: string[] = []
    for await (const { id, versionId, deleted } of store.recent({ tenant, type }, since, most))
      found.push(`${id}/${versionId}${deleted ? ' deleted' : ''}`)
    return found
  }
  const newTenant = () => `r-${randomUUID()}`
  const writeOf = (tenant: string, id: string, expected: number, lastUpdated: number, more: Partial<Write> = {}): Write => ({
    ...{ tenant, type: 'Patient', id, expected, lastUpdated, deleted: false, compartments: [], body: new TextEncoder().encode(id) },
    ...more,
  })
  const deletionOf = (tenant: string, id: string, expected: number, lastUpdated: number): Write =>
    writeOf(tenant, id, expected, lastUpdated, { deleted: true, body: new Uint8Array() })

  describe(`${name}: recent writes`, () => {
    it('are the current versions since an instant, inclusive, each once, deletions too', async () => {
      const tenant = newTenant()
      await commit(writeOf(tenant, 'old', 0, 10), writeOf(tenant, 'updated', 0, 10), writeOf(tenant, 'deleted', 0, 10))
      await commit(writeOf(tenant, 'new', 0, 20), writeOf(tenant, 'updated', 1, 20), deletionOf(tenant, 'deleted', 1, 20))
      for (let n = 2; n < 5; n++) await commit(writeOf(tenant, 'updated', n, 20 + n))
      expect((await recent(tenant, { since: 20 })).toSorted()).toEqual(['deleted/2 deleted', 'new/1', 'updated/5'])
      expect(await recent(tenant, { since: 11 })).toHaveLength(3)
      expect((await recent(tenant, { since: 10 })).toSorted()).toEqual(['deleted/2 deleted', 'new/1', 'old/1', 'updated/5'])
      expect(await recent(tenant, { since: 25 })).toEqual([])
    })

    it('are separate per type and tenant', async () => {
      const tenant = newTenant()
      await commit(writeOf(tenant, 'a', 0, 10), writeOf(tenant, 'a', 0, 10, { type: 'Person' }))
      await commit(writeOf(newTenant(), 'b', 0, 10))
      expect(await recent(tenant)).toEqual(['a/1'])
      expect(await recent(tenant, { type: 'Practitioner' })).toEqual([])
    })

    it('fail with index-behind if more versions were written than the maximum', async () => {
      const tenant = newTenant()
      for (let n = 0; n < 4; n++) await commit(writeOf(tenant, `p${n}`, 0, 100 + n))
      await commit(writeOf(tenant, 'p3', 1, 200), deletionOf(tenant, 'p2', 1, 201))
      expect(await recent(tenant, { most: 6 })).toHaveLength(4)
      await expect(recent(tenant, { most: 5 })).rejects.toThrow(fault('index-behind'))
      expect((await recent(tenant, { since: 103, most: 3 })).toSorted()).toEqual(['p2/2 deleted', 'p3/2'])
      await expect(recent(tenant, { since: 103, most: 2 })).rejects.toThrow(fault('index-behind'))
    })

    it('include all of a commit of any size as soon as it resolves', async () => {
      for (const size of [2, 150]) {
        const tenant = newTenant()
        const ids = [...Array(size).keys()].map((n) => `p${n}`)
        await commit(...ids.map((id) => writeOf(tenant, id, 0, 10)))
        expect((await recent(tenant, { since: 10 })).toSorted()).toEqual(ids.map((id) => `${id}/1`).toSorted())
      }
    })
  })
}
