/** The heartbeat in an index: searches read its time but never find it, and an index that was set back is rebuilt. */

import { afterEach, beforeEach, expect, it } from '@jest/globals'
import type { OpenSearchIndex } from '../../../lambdas/adapters/opensearch/search-index.ts'
import { encode } from '../../../lambdas/indexing/lifecycle/stored-state.ts'
import { and, type GroupPlan, matchingOf, not, type Plan } from '../../../lambdas/ports/search/plan.ts'
import type { IndexDocument } from '../../../lambdas/ports/search/search-index.ts'
import { document } from '../../contracts/index-document.ts'
import { createTestIndex, runOnOpenSearch, type TestIndex } from '../../engines/opensearch-index.ts'
import { startFaultyProxy } from '../../engines/opensearch-proxy.ts'

runOnOpenSearch('OpenSearch and its pulse', (endpoint) => {
  let open: TestIndex
  beforeEach(() => {
    open = createTestIndex(endpoint, { knownFor: 0 })
  })
  afterEach(() => open.close())

  const some = (type: string, to: number, fields: Partial<IndexDocument> = {}) =>
    Array.from({ length: to }, (_, i) => document({ type, id: `${i}`, keys: { b: ['x'] }, groups: { 'b:code': ['x'] }, ...fields }))
  const plan = (...types: readonly string[]): Plan => ({
    ...{ tenant: 'one', types, where: and(), access: 'everything', order: [], limit: 1_000, total: 'accurate', pulse: true },
  })
  const ask = async (method: string, path: string, body?: Readonly<Record<string, unknown>>) =>
    (await open.client.transport.request({ method, path, ...(body && { body }) })).body
  const shown = async (...types: readonly string[]) => {
    await ask('POST', `/${open.prefix}-*/_refresh`)
    return (await open.index.find(plan(...types))).pulse
  }
  const lacking = async () => encode((await open.state.read()).value).live!.lacking
  const identity = async () => encode((await open.state.read()).value).live!.identity
  const liveIndex = async (type: string): Promise<string> => {
    const found = (await ask('GET', `/_alias/${open.prefix}-${type}-${await identity()}`)) as Readonly<Record<string, unknown>>
    return Object.keys(found)[0]!
  }
  /** Copies the index. The returned function restores it from the copy. */
  const keep = async (type: string, to: string) => {
    const index = await liveIndex(type)
    const copied = async (from: string, into: string, aliases = {}) => {
      await ask('PUT', `/${from}/_settings`, { 'index.blocks.write': true })
      await ask('PUT', `/${from}/_clone/${into}`, { settings: { 'index.blocks.write': null }, aliases })
      await ask('GET', `/_cluster/health/${into}?wait_for_active_shards=1&wait_for_no_initializing_shards=true`)
    }
    await copied(index, to)
    await ask('PUT', `/${index}/_settings`, { 'index.blocks.write': null })
    return async () => {
      await ask('DELETE', `/${index}`)
      await copied(to, index, { [`${open.prefix}-${type}-${await identity()}`]: {} })
    }
  }

  it('is read within the search request: the oldest of all indices, or none', async () => {
    await open.index.apply([...some('Patient', 2), ...some('Basic', 1)])
    expect(await shown('Patient')).toBeUndefined()
    expect(Object.keys(await open.index.pulse(1_000, {}))).toEqual(['Patient', 'Basic'])
    await open.index.apply(some('Person', 1))
    const asked: string[] = []
    const proxy = await startFaultyProxy(endpoint, ({ path }) => {
      asked.push(path)
      return undefined
    })
    const through = open.another({}, proxy.endpoint)
    await ask('POST', `/${open.prefix}-*/_refresh`)
    const found = async (each: Plan) => {
      const { hits, total, pulse } = await through.find(each)
      return [hits.length, total, pulse]
    }
    expect(await found(plan('Patient', 'Basic'))).toEqual([3, 3, 1_000])
    expect(await found(plan('Person'))).toEqual([1, 1, undefined])
    expect(await found(plan('Patient', 'Person'))).toEqual([3, 3, undefined])
    expect(await found(plan('Goal'))).toEqual([0, 0, undefined])
    expect(await found({ ...plan('Patient'), limit: 0 })).toEqual([0, 2, 1_000])
    const { pulse: _, ...unasked } = plan('Patient')
    expect(await found(unasked)).toEqual([2, 2, undefined])
    expect(asked).toHaveLength(6)
    await proxy.close()
  })

  it('is no document: no search, count, group or key includes it', async () => {
    await open.index.apply(some('Patient', 2))
    await open.index.pulse(1_000, {})
    await ask('POST', `/${open.prefix}-*/_refresh`)
    const wheres = [and(), not({ kind: 'key', field: 'b', oneOf: ['x'] }), not({ kind: 'present', field: 'nothing' })]
    const ids = { kind: 'key', field: '_id:code', oneOf: ['pulse', '0'] } as const
    for (const tenant of ['one', '', 'two'])
      for (const where of [...wheres, ids]) {
        const searched = { ...plan('Patient'), tenant, where }
        const isOurs = tenant === 'one' && where !== wheres[1] && where !== ids
        const { hits, total } = await open.index.find(searched)
        expect([hits.map(({ id }) => id), total]).toEqual(isOurs ? [['0', '1'], 2] : [[], 0])
        const grouping: GroupPlan = { ...matchingOf(searched), field: 'b:code', order: [], limit: 9, hits: 2 }
        const { groups } = await open.index.groups(grouping)
        expect(groups.map(({ size }) => size)).toEqual(isOurs ? [2] : [])
        expect(await open.index.distinct(searched, '_id:code', 9)).toEqual([])
      }
    const everything = { ...plan('Patient'), access: { Patient: not({ kind: 'key', field: 'b', oneOf: ['y'] }) } }
    expect((await open.index.find(everything)).total).toBe(2)
  })

  it('only grows', async () => {
    await open.index.apply(some('Patient', 1))
    const held = await open.index.pulse(1_000, {})
    expect(await open.another().pulse(900, held)).toEqual({ Patient: { identity: await identity(), sent: 900 } })
    expect([await shown('Patient'), await open.index.tend(held)]).toEqual([1_000, []])
  })

  it('survives a rebuild of the type, also one shorter than a minute', async () => {
    await open.index.apply(some('Patient', 2))
    const held = await open.index.pulse(1_000, {})
    const quick = await open.index.rebuild('Patient')
    await quick.apply(some('Patient', 2))
    await quick.swap()
    expect([await shown('Patient'), await open.index.tend(held)]).toEqual([1_000, []])
    const slow = await open.index.rebuild('Patient')
    const later = await open.index.pulse(2_000, held)
    await slow.apply(some('Patient', 2))
    await ask('DELETE', `/${await liveIndex('patient')}`)
    await slow.swap()
    expect([await shown('Patient'), await open.index.tend(later)]).toEqual([2_000, []])
  })

  const setBack = async (): Promise<Awaited<ReturnType<OpenSearchIndex['pulse']>>> => {
    await open.index.apply([...some('Patient', 1), ...some('Basic', 1)])
    const before = await open.index.pulse(1_000, {})
    const putBack = await keep('patient', `${open.prefix}-kept-v9`)
    await open.index.apply(some('Patient', 3, { version: 2 }))
    const held = await open.index.pulse(2_000, before)
    await putBack()
    return held
  }

  it('shows a search that the index was set back, and causes a rebuild', async () => {
    const held = await setBack()
    const { total, pulse } = await open.index.find(plan('Patient'))
    expect([total, pulse]).toEqual([1, 1_000])
    expect(await open.index.tend(held)).toEqual(['Patient'])
    expect([await lacking(), (await open.state.read()).value.rebuilds.map(({ type }) => type)]).toEqual([['Patient'], ['Patient']])
    // Only once, because the held state names the previous identity.
    expect(await open.index.tend(held)).toEqual(['Patient'])
    expect(encode((await open.state.read()).value).live!.former).toHaveLength(1)
  })

  it('is not written to an index that was set back, which is rebuilt', async () => {
    const held = await setBack()
    const told = await open.index.pulse(3_000, held)
    expect(Object.keys(told)).toEqual(['Basic'])
    expect(await lacking()).toEqual(['Patient'])
  })

  it('is not written to a missing index, but to all others', async () => {
    await open.index.apply([...some('Patient', 1), ...some('Basic', 1)])
    const held = await open.index.pulse(1_000, {})
    await ask('DELETE', `/${await liveIndex('patient')}`)
    expect(Object.keys(await open.index.pulse(2_000, held))).toEqual(['Basic'])
    expect(await open.index.tend(held)).toEqual(['Patient'])
  })
})
