/** An index after a point-in-time restore: version numbers are used again, and all later versions count as newer. */
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { externalVersion } from '../../../lambdas/adapters/opensearch/external-version.ts'
import { hitOf } from '../../../lambdas/adapters/opensearch/search-requests.ts'
import { tokenOf } from '../../../lambdas/adapters/opensearch/visibility.ts'
import { and, type Plan } from '../../../lambdas/ports/search/plan.ts'
import type { IndexDocument, SearchIndex } from '../../../lambdas/ports/search/search-index.ts'
import { document } from '../../contracts/index-document.ts'
import { createTestIndex, runOnOpenSearch, type TestIndex } from '../../engines/opensearch-index.ts'
import { fault } from '../../fixtures/machine-fault.ts'

it('A hit has the version of its resource in every epoch up to a million', () => {
  for (const epoch of [0, 1, 1_000_000])
    for (const version of [0, 1, 4_294_967_295])
      expect(hitOf({ _version: externalVersion(epoch, version), sort: ['Basic', 'a'] }).version).toBe(version)
  expect(externalVersion(1_000_000, 4_294_967_295)).toBeLessThan(externalVersion(1_000_001, 0))
  expect(externalVersion(0, 7)).toBe(7)
})

runOnOpenSearch('OpenSearch behind a store that was set back', (endpoint) => {
  let open: TestIndex
  beforeEach(() => {
    open = createTestIndex(endpoint)
  })
  afterEach(() => open.close())

  /** Returns an index of the epoch, after the state has moved to it. */
  const next = async (epoch: number) => {
    await open.state.change((each) => ({ ...each, epoch }))
    return open.another({ epoch })
  }

  const basic = (id: string, version: number, fields: Partial<IndexDocument> = {}) =>
    document({ type: 'Basic', id, version, groups: { 'g:code': ['x'] }, ...fields })
  const plan: Plan = { tenant: 'one', types: ['Basic'], where: and(), access: 'everything', order: [], limit: 9, total: 'accurate' }
  const found = async (index: SearchIndex) => (await index.find(plan)).hits.map(({ id, version }) => `${id} ${version}`)

  it('accepts lower versions in the next epoch, and continues from there', async () => {
    await open.index.apply([basic('back', 5), basic('gone', 2), basic('same', 3)])
    const after = await next(1)
    await after.apply([basic('back', 3), basic('gone', 0, { deleted: true })])
    expect(await found(after)).toEqual(['back 3', 'same 3'])
    await after.apply([basic('back', 4), basic('gone', 1), basic('same', 4)])
    expect(await found(after)).toEqual(['back 4', 'gone 1', 'same 4'])
    const { tenant, types, where, access, order } = plan
    const grouped = await after.groups({ tenant, types, where, access, order, field: 'g:code', hits: 3, limit: 9 })
    expect(grouped.groups[0]!.hits.map(({ version }) => version)).toEqual([4, 1, 4])
  })

  it('rejects writes of the previous epoch, and waits for versions of this one', async () => {
    await open.index.apply([basic('a', 5)])
    const after = await next(1)
    expect(await after.caughtUp([tokenOf(basic('a', 3))], 0)).toBe(false)
    await after.apply([basic('a', 3)])
    expect(await after.caughtUp([tokenOf(basic('a', 3))], 0)).toBe(true)
    await open.index.apply([basic('a', 6), basic('a', 7, { deleted: true })])
    expect(await found(after)).toEqual(['a 3'])
    await expect(open.index.find(plan)).rejects.toThrow(fault('unavailable'))
    await after.applyAgain([basic('a', 3, { deleted: true })])
    expect(await found(after)).toEqual([])
  })
})
