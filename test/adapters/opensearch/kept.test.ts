/** A replaced index is retained, restored with later writes, or removed, and searches never see fewer documents. */

import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { indexDefinition } from '../../../lambdas/adapters/opensearch/index-definition.ts'
import { encode } from '../../../lambdas/indexing/lifecycle/stored-state.ts'
import { and, type Plan, type Predicate } from '../../../lambdas/ports/search/plan.ts'
import type { IndexDocument } from '../../../lambdas/ports/search/search-index.ts'
import { document } from '../../contracts/index-document.ts'
import { createTestIndex, runOnOpenSearch, TEST_SETTINGS, type TestIndex } from '../../engines/opensearch-index.ts'
import { type FaultyEngine, type ProxyFault, startFaultyProxy } from '../../engines/opensearch-proxy.ts'

runOnOpenSearch('A kept index of OpenSearch', (endpoint) => {
  let open: TestIndex
  let proxy: FaultyEngine | undefined
  beforeEach(() => {
    open = createTestIndex(endpoint, { knownFor: 0 })
    proxy = undefined
  })
  afterEach(async () => {
    await proxy?.close()
    await open.close()
  })

  const some = (to: number, fields: Partial<IndexDocument> = {}) =>
    Array.from({ length: to }, (_, i) => document({ id: `${i}`, keys: { b: ['old'] }, ...fields }))
  const NEW = { keys: { b: ['new'] } }
  const by = (key: string): Predicate => ({ kind: 'key', field: 'b', oneOf: [key] })
  const ids = async (where: Predicate = and()) => {
    const rest = { types: ['Observation'], where, access: 'everything', order: [], limit: 1_000, total: 'accurate' } as const
    const plan: Plan = { tenant: 'one', ...rest }
    return (await open.index.find(plan)).hits.map(({ id, version }) => (version === 1 ? id : `${id}v${version}`)).join(' ')
  }
  const indices = async () => {
    const { body } = await open.client.transport.request({ method: 'GET', path: `/${open.prefix}-*/_alias` })
    const role = (aliases: readonly string[]) => aliases.map((alias) => /-(next|kept)-/.exec(alias)?.[1] ?? 'live').join('+')
    return Object.entries(body as Readonly<Record<string, { readonly aliases: object }>>)
      .map(([name, { aliases }]) => `${/-v\d+/.exec(name)?.[0].slice(1)} ${role(Object.keys(aliases))}`)
      .sort()
      .join(', ')
  }
  /** Returns the name of the replaced index. */
  const replacedBy = async (documents: readonly IndexDocument[]): Promise<string> => {
    const rebuild = await open.index.rebuild('Observation')
    await rebuild.apply(documents)
    return (await rebuild.swap(true))!
  }

  it('receives later writes when it is taken back, and the replaced one is retained', async () => {
    await open.index.apply(some(4))
    const kept = await replacedBy(some(4, NEW))
    expect([await indices(), await ids(by('new'))]).toEqual(['v1 kept, v2 live', '0 1 2 3'])
    await open.index.apply([document({ id: '1', version: 2, ...NEW }), document({ id: '2', version: 2, deleted: true })])
    const back = (await open.index.takeBack('Observation', kept))!
    expect(await indices()).toEqual('v1 kept+next, v2 live')
    await open.index.apply([document({ id: 'born', keys: { b: ['old'] } })])
    expect(await ids()).toBe('0 1v2 3 born')
    await back.apply(
      [
        document({ id: '1', version: 2, keys: { b: ['old'] } }),
        document({ id: '2', version: 2, deleted: true }),
        ...some(1, { keys: { b: ['again'] } }),
      ],
      true,
    )
    expect(await back.swap(true)).toContain('-observation-v2-')
    expect(await indices()).toEqual('v1 live, v2 kept')
    expect([await ids(), await ids(by('old')), await ids(by('again'))]).toEqual(['0 1v2 3 born', '1v2 3 born', '0'])
  })

  it('gets the fields that its mapping has while it is taken back', async () => {
    await open.index.tend()
    const { identity } = encode((await open.state.read()).value).live!
    const { settings, mappings } = indexDefinition(TEST_SETTINGS)
    const { numbers: _, ...properties } = mappings.properties as Readonly<Record<string, unknown>>
    const dynamic_templates = mappings.dynamic_templates.filter((each) => !Object.hasOwn(each, 'numbers'))
    const body = { settings, mappings: { ...mappings, properties, dynamic_templates } }
    await open.client.transport.request({ method: 'PUT', path: `/${open.prefix}-observation-v1-${identity}`, body })
    await open.index.apply(some(2))
    const kept = await replacedBy(some(2))
    const back = (await open.index.takeBack('Observation', kept))!
    await open.index.apply([document({ id: 'new', keys: { b: ['old'] }, numbers: { n: [[1, 2]] } })])
    await back.swap(true)
    expect([await indices(), await ids(by('old'))]).toEqual(['v1 live, v2 kept', '0 1 new'])
  })

  it('is only the last one, and is retained only on request', async () => {
    await open.index.apply(some(1))
    await replacedBy(some(1))
    await open.index.abandon('Observation')
    expect(await indices()).toBe('v2 live')
    await replacedBy(some(1))
    expect(await indices()).toBe('v2 kept, v3 live')
    const rebuild = await open.index.rebuild('Observation')
    expect(await rebuild.swap()).toBeUndefined()
    expect(await indices()).toBe('v4 live')
  })

  it('has the same name after a lost answer and a repeated swap', async () => {
    await open.index.apply(some(2))
    const faults: ProxyFault[] = [{ kind: 'drop', when: 'after' }]
    proxy = await startFaultyProxy(endpoint, ({ path }) => (path === '/_aliases' ? faults.shift() : undefined))
    const through = open.another({ attempts: 3, pause: 1 }, proxy.endpoint)
    const rebuild = await through.rebuild('Observation')
    const kept = await rebuild.swap(true)
    expect(kept).toContain('-observation-v1-')
    expect(await rebuild.swap(true)).toBe(kept)
    expect(await indices()).toBe('v1 kept, v2 live')
  })

  it('stays retained after an abandoned rebuild, and other unfinished indices are removed', async () => {
    await open.index.apply(some(1))
    const kept = await replacedBy(some(1))
    await open.index.takeBack('Observation', kept)
    await open.index.abandon('Observation', kept)
    expect(await indices()).toBe('v1 kept, v2 live')
    await open.index.rebuild('Observation')
    await open.index.abandon('Observation', kept)
    expect(await indices()).toBe('v1 kept, v2 live')
    await open.index.takeBack('Observation', kept)
    await open.index.abandon('Observation')
    expect(await indices()).toBe('v2 live')
  })

  it('is not taken back once it is removed', async () => {
    await open.index.apply(some(1))
    const kept = await replacedBy(some(1))
    await open.index.abandon('Observation')
    expect(await open.index.takeBack('Observation', kept)).toBeUndefined()
    expect(await indices()).toBe('v2 live')
  })

  it('is removed unless it is named, is serving by then, or is foreign', async () => {
    await open.index.apply(some(1))
    const kept = await replacedBy(some(1))
    const foreign = `${open.prefix}-observation-v9-0123456789ab`
    const aliases = { [`${open.prefix}-observation-kept-0123456789ab`]: {} }
    await open.client.transport.request({ method: 'PUT', path: `/${foreign}`, body: { aliases } })
    await open.index.removeKept(async () => [kept])
    expect(await indices()).toBe('v1 kept, v2 live, v9 kept')
    await open.index.removeKept(async () => {
      const back = (await open.index.takeBack('Observation', kept))!
      await back.swap(true)
      return []
    })
    expect(await indices()).toBe('v1 live, v2 kept, v9 kept')
    await open.index.removeKept(async () => [])
    expect([await indices(), await ids()]).toEqual(['v1 live, v9 kept', '0'])
  })
})
