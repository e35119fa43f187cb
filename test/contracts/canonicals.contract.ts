/** What lambdas/ports/definitions/canonicals.ts promises, as tests. Each test works in a tenant of its own. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Canonicals, DefinitionType } from '../../lambdas/ports/definitions/canonicals.ts'
import type { ResourceReader, ResourceWriter, Write } from '../../lambdas/ports/store/resource-store.ts'

export type CanonicalsUnderTest = {
  readonly canonicals: Canonicals
  readonly store: ResourceWriter & Pick<ResourceReader, 'current'>
  readonly close: () => Promise<void>
}

export async function collectPages<Page>(pages: AsyncIterable<Page>): Promise<readonly Page[]> {
  const found: Page[] = []
  for await (const page of pages) found.push(page)
  return found
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
  const carrying = async (tenant: string, type: DefinitionType, url: string) => {
    const found = (await collectPages(under.canonicals.carrying(tenant, type, url))).flat()
    return [...new Set(found.map(({ tenant: of, type, id }) => `${of} ${type}/${id}`))].toSorted()
  }
  const newTenant = () => `c-${randomUUID()}`
  const url = 'http://example.org/a'

  describe(`${name}: canonicals`, () => {
    it('are found as soon as the commit is acknowledged', async () => {
      const tenant = newTenant()
      await commit(writeOf(tenant, 'ValueSet', 'a', url))
      expect(await carrying(tenant, 'ValueSet', url)).toEqual([`${tenant} ValueSet/a`])
      await commit(writeOf(tenant, 'ValueSet', 'b', url), writeOf(tenant, 'ValueSet', 'c', `${url}/c`))
      expect(await carrying(tenant, 'ValueSet', url)).toEqual(['a', 'b'].map((id) => `${tenant} ValueSet/${id}`))
      expect(await carrying(tenant, 'ValueSet', `${url}/c`)).toEqual([`${tenant} ValueSet/c`])
    })

    it('are separate per type and tenant, and limited to definitions', async () => {
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

    it('follow a resource that changes its URL, or is restored', async () => {
      const tenant = newTenant()
      await commit(writeOf(tenant, 'ValueSet', 'a', url))
      await commit(writeOf(tenant, 'ValueSet', 'a', `${url}/b`, 1))
      expect(await carrying(tenant, 'ValueSet', `${url}/b`)).toEqual([`${tenant} ValueSet/a`])
      await commit(writeOf(tenant, 'ValueSet', 'a', undefined, 2))
      await commit(writeOf(tenant, 'ValueSet', 'a', url, 3))
      expect(await carrying(tenant, 'ValueSet', url)).toEqual([`${tenant} ValueSet/a`])
    })

    it('are found for 250 resources with one URL, in pages of at most a hundred', async () => {
      const tenant = newTenant()
      const ids = Array.from({ length: 250 }, (_, i) => `v${i}`)
      for (let at = 0; at < ids.length; at += 50) await commit(...ids.slice(at, at + 50).map((id) => writeOf(tenant, 'ValueSet', id, url)))
      expect(await carrying(tenant, 'ValueSet', url)).toEqual(ids.map((id) => `${tenant} ValueSet/${id}`).toSorted())
      for await (const page of under.canonicals.carrying(tenant, 'ValueSet', url)) expect(page.length).toBeLessThanOrEqual(100)
    })

    it('have an empty state at first, and a new one after each commit of the tenant', async () => {
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
