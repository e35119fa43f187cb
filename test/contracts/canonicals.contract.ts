/** What lambdas/ports/canonicals.ts promises, as tests. Each test works in a tenant of its own. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Canonicals, DefinitionType } from '../../lambdas/ports/canonicals.ts'
import type { ResourceReader, ResourceWriter, Write } from '../../lambdas/ports/resource-store.ts'

export type CanonicalsUnderTest = {
  readonly canonicals: Canonicals
  readonly store: ResourceWriter & Pick<ResourceReader, 'current'>
  readonly close: () => Promise<void>
}

export function canonicalsContract(name: string, create: () => Promise<CanonicalsUnderTest>): void {
  let under: CanonicalsUnderTest
  beforeAll(async () => {
    under = await create()
  })
  afterAll(() => under.close())

  let stamp = 1_000_000
  const writeOf = (tenant: string, type: string, id: string, url: string | undefined, expected = 0): Write => ({
    ...{ tenant, type, id, expected, lastUpdated: ++stamp, deleted: url === undefined, compartments: [] },
    body: url === undefined ? new Uint8Array() : new TextEncoder().encode(JSON.stringify({ resourceType: type, id, url, status: 'draft' })),
  })
  const commit = async (...writes: readonly Write[]) => expect(await under.store.commit(writes, [])).toEqual({ kind: 'committed' })
  const carrying = async (tenant: string, type: DefinitionType, url: string, most = 10) =>
    (await under.canonicals.carrying(tenant, type, url, most)).map(({ tenant: of, type, id }) => `${of} ${type}/${id}`).toSorted()
  const newTenant = () => `c-${randomUUID()}`
  const url = 'http://example.org/a'

  describe(`${name}: canonicals`, () => {
    it('name whose url they are, when the commit is acknowledged', async () => {
      const tenant = newTenant()
      await commit(writeOf(tenant, 'ValueSet', 'a', url))
      expect(await carrying(tenant, 'ValueSet', url)).toEqual([`${tenant} ValueSet/a`])
      await commit(writeOf(tenant, 'ValueSet', 'b', url), writeOf(tenant, 'ValueSet', 'c', `${url}/c`))
      expect(await carrying(tenant, 'ValueSet', url)).toEqual(['a', 'b'].map((id) => `${tenant} ValueSet/${id}`))
      expect(await carrying(tenant, 'ValueSet', `${url}/c`)).toEqual([`${tenant} ValueSet/c`])
    })

    it('are of one type of one tenant, and of no other resource', async () => {
      const tenant = newTenant()
      await commit(
        writeOf(tenant, 'ValueSet', 'a', url),
        writeOf(tenant, 'CodeSystem', 'b', url),
        writeOf(tenant, 'Questionnaire', 'c', url),
      )
      expect(await carrying(tenant, 'CodeSystem', url)).toEqual([`${tenant} CodeSystem/b`])
      expect(await carrying(tenant, 'StructureDefinition', url)).toEqual([])
      expect(await carrying(newTenant(), 'ValueSet', url)).toEqual([])
    })

    it('go along with a resource that takes another, and one that comes back', async () => {
      const tenant = newTenant()
      await commit(writeOf(tenant, 'ValueSet', 'a', url))
      await commit(writeOf(tenant, 'ValueSet', 'a', `${url}/b`, 1))
      expect(await carrying(tenant, 'ValueSet', `${url}/b`)).toEqual([`${tenant} ValueSet/a`])
      await commit(writeOf(tenant, 'ValueSet', 'a', undefined, 2))
      await commit(writeOf(tenant, 'ValueSet', 'a', url, 3))
      expect(await carrying(tenant, 'ValueSet', url)).toEqual([`${tenant} ValueSet/a`])
    })

    it('that many carry are more than the most', async () => {
      const tenant = newTenant()
      await commit(...Array.from({ length: 5 }, (_, i) => writeOf(tenant, 'ValueSet', `v${i}`, url)))
      expect((await carrying(tenant, 'ValueSet', url, 3)).length).toBeGreaterThan(3)
      expect((await carrying(tenant, 'ValueSet', url, 5)).length).toBe(5)
    })

    it('have no state where there never was one, and another after each commit, which is no other tenant’s', async () => {
      const [tenant, other, none] = [newTenant(), newTenant(), newTenant()]
      const state = (of: string) => under.canonicals.state(of)
      expect(await state(tenant)).toBe('')
      await commit(writeOf(none, 'Questionnaire', 'q', url))
      const states = ['']
      for (const write of [
        writeOf(tenant, 'StructureDefinition', 'a', url),
        writeOf(tenant, 'StructureDefinition', 'a', url, 1),
        writeOf(tenant, 'CodeSystem', 'b', url),
        writeOf(tenant, 'StructureDefinition', 'a', undefined, 2),
      ]) {
        await commit(write)
        states.push(await state(tenant))
      }
      await commit(writeOf(other, 'ValueSet', 'a', url))
      states.push(await state(other))
      expect(new Set(states).size).toBe(6)
      expect([await state(none), await state(newTenant())]).toEqual(['', ''])
    })
  })
}
