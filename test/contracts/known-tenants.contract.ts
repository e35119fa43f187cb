/** What lambdas/ports/store/tenants.ts promises, as tests. */
import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { ResourceWriter } from '../../lambdas/ports/store/resource-store.ts'
import type { StoredTenants } from '../../lambdas/ports/store/tenants.ts'
import { patientKeyOf, writeOf } from '../fixtures/versions.ts'

/** `another`: of another process, which has written nothing. */
export type StoredTenantsUnderTest = {
  readonly store: StoredTenants & ResourceWriter
  readonly another: () => Promise<StoredTenants>
  readonly close: () => Promise<void>
}

export async function listTenants(store: StoredTenants): Promise<readonly string[]> {
  const found: string[] = []
  for await (const tenant of store.tenants()) found.push(tenant)
  return found
}

export function storedTenantsContract(name: string, create: () => Promise<StoredTenantsUnderTest>, sizes = { largestCommit: 150 }): void {
  let parts: StoredTenantsUnderTest
  beforeEach(async () => {
    parts = await create()
  })
  afterEach(() => parts.close())

  const commit = async (tenant: string, count = 1) => {
    const writes = Array.from({ length: count }, (_, i) => writeOf(patientKeyOf(`p${i}`, tenant)))
    expect(await parts.store.commit(writes, [])).toEqual({ kind: 'committed' })
  }

  describe(`${name}: tenants`, () => {
    it('are only the default tenant in a new store', async () => {
      expect(await listTenants(await parts.another())).toEqual(['default'])
    })

    it('are listed everywhere, once, as soon as a commit resolves, whatever their names', async () => {
      const stem = randomUUID()
      const mine = ['', '-', 'A', 'a', '%', "'", 'H', '~', '#'].map((suffix) => `${stem}${suffix}`)
      for (const tenant of mine) {
        await commit(tenant)
        for (const store of [parts.store, await parts.another()]) expect(await listTenants(store)).toContain(tenant)
      }
      await commit(`${stem}-large`, sizes.largestCommit)
      await commit('default')
      const all = await listTenants(await parts.another())
      expect(all.toSorted()).toEqual(['default', ...mine, `${stem}-large`].toSorted())
      expect(await listTenants(parts.store)).toEqual(all)
    })

    it('keep their order when others are added', async () => {
      const before = await listTenants(parts.store)
      for (let n = 0; n < 5; n++) await commit(randomUUID())
      const after = await listTenants(parts.store)
      expect(after.length).toBe(before.length + 5)
      expect(after.filter((tenant) => before.includes(tenant))).toEqual(before)
    })
  })
}
