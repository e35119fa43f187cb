/** Tests of the guarantees of lambdas/ports/store/identifier-rows.ts. Each test works in a tenant of its own. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { IdentifierCriterion, IdentifierRows } from '../../lambdas/ports/store/identifier-rows.ts'
import type { Identifier, ResourceWriter, Write } from '../../lambdas/ports/store/resource-store.ts'

export type IdentifierRowsUnderTest = {
  readonly rows: IdentifierRows
  readonly store: ResourceWriter
  /** Lets the clock of the store pass these milliseconds. */
  readonly pass: (time: number) => void
  readonly close: () => Promise<void>
}

export function identifierRowsContract(name: string, create: () => Promise<IdentifierRowsUnderTest>): void {
  let under: IdentifierRowsUnderTest
  beforeAll(async () => {
    under = await create()
  })
  afterAll(() => under.close())

  const newTenant = () => `i-${randomUUID()}`
  const writeOf = (tenant: string, id: string, identifiers: readonly Identifier[], more: Partial<Write> = {}): Write => ({
    ...{ tenant, type: 'Patient', id, expected: 0, lastUpdated: 10, deleted: false, compartments: [], body: new TextEncoder().encode(id) },
    ...{ identifiers, ...more },
  })
  const commit = async (...writes: readonly Write[]) => expect(await under.store.commit(writes, [])).toEqual({ kind: 'committed' })
  const rowsOf = (tenant: string, criteria: readonly IdentifierCriterion[], { type = 'Patient', limit = 1_000 } = {}) =>
    under.rows.carrying({ tenant, type }, criteria, limit)
  const carrying = async (...asked: Parameters<typeof rowsOf>) => (await rowsOf(...asked)).map(({ key }) => key.id).toSorted()

  const [a, b] = [
    { system: 'urn:a', value: '1' },
    { system: 'urn:b', value: '1' },
  ]
  const none = { system: '', value: '1' }

  describe(`${name}: identifier rows`, () => {
    it('are found by value, by system and value, and by value without a system', async () => {
      const tenant = newTenant()
      await commit(writeOf(tenant, 'a', [a]), writeOf(tenant, 'b', [b, { system: 'urn:b', value: '2' }]), writeOf(tenant, 'none', [none]))
      expect(await carrying(tenant, [{ value: '1' }])).toEqual(['a', 'b', 'none'])
      expect(await carrying(tenant, [a])).toEqual(['a'])
      expect(await carrying(tenant, [none])).toEqual(['none'])
      expect(await carrying(tenant, [a, { value: '2' }])).toEqual(['a', 'b'])
      expect(await carrying(tenant, [{ value: '3' }])).toEqual([])
    })

    it('are separate per type and tenant, and for values that contain separators', async () => {
      const tenant = newTenant()
      const odd = { system: 'urn:a#x', value: '1#|~ \u00e9' }
      await commit(writeOf(tenant, 'a', [a]), writeOf(tenant, 'a', [a], { type: 'Person' }), writeOf(tenant, 'odd', [odd]))
      expect(await carrying(tenant, [a], { type: 'Person' })).toEqual(['a'])
      expect(await carrying(tenant, [a], { type: 'Practitioner' })).toEqual([])
      expect(await carrying(newTenant(), [a])).toEqual([])
      expect([await carrying(tenant, [odd]), await carrying(tenant, [{ value: odd.value }])]).toEqual([['odd'], ['odd']])
      expect(await carrying(tenant, [{ ...odd, system: 'urn:a' }])).toEqual([])
    })

    it('exist for all of a commit of any size, and may be left over by one that fails', async () => {
      const tenant = newTenant()
      const ids = [...Array(150).keys()].map((n) => `p${n}`)
      await commit(...ids.map((id) => writeOf(tenant, id, [a])))
      expect(await carrying(tenant, [a])).toEqual(ids.toSorted())
      expect((await under.store.commit([writeOf(tenant, 'p0', [b])], [])).kind).toBe('conflict')
      expect(await carrying(tenant, [b])).toEqual(['p0'])
    })

    it('are returned in part, but more than the maximum, if there are more', async () => {
      const tenant = newTenant()
      await commit(...['p', 'q', 'r'].map((id) => writeOf(tenant, id, [a])))
      expect(await carrying(tenant, [a], { limit: 3 })).toEqual(['p', 'q', 'r'])
      expect(await carrying(tenant, [a], { limit: 1 })).toHaveLength(2)
      await commit(writeOf(tenant, 's', [b]))
      expect(await carrying(tenant, [b, a], { limit: 4 })).toHaveLength(4)
      expect((await carrying(tenant, [b, a], { limit: 2 })).length).toBeGreaterThan(2)
    })

    it('can be added for stored resources, and removed unless they were added again', async () => {
      const tenant = newTenant()
      const [p, q] = ['p', 'q'].map((id) => ({ tenant, type: 'Patient', id }))
      await under.rows.add([
        { ...p!, identifiers: [a, a, b] },
        { ...q!, identifiers: [a] },
        { ...q!, identifiers: [] },
      ])
      const rows = await rowsOf(tenant, [{ value: '1' }])
      expect(rows.map(({ key }) => key)).toHaveLength(3)
      under.pass(1)
      await under.rows.add([{ ...q!, identifiers: [a] }])
      await under.rows.forget(rows)
      const left = await rowsOf(tenant, [{ value: '1' }])
      expect(left.map(({ key }) => key)).toEqual([q])
      expect(left[0]!.written).toBeGreaterThan(rows[0]!.written)
    })
  })
}
