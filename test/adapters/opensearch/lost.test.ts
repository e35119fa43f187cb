/** Searches and writes on an index that is lost, restored or foreign: no result is incomplete, and the index is rebuilt. */

import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { tokenOf } from '../../../lambdas/adapters/opensearch/visibility.ts'
import { encode } from '../../../lambdas/indexing/lifecycle/stored-state.ts'
import { and, type GroupPlan, type Plan } from '../../../lambdas/ports/search/plan.ts'
import type { IndexDocument } from '../../../lambdas/ports/search/search-index.ts'
import { document } from '../../contracts/index-document.ts'
import { createTestIndex, runOnOpenSearch, type TestIndex } from '../../engines/opensearch-index.ts'
import { startFaultyProxy } from '../../engines/opensearch-proxy.ts'
import { fault } from '../../fixtures/machine-fault.ts'

runOnOpenSearch('OpenSearch without an index', (endpoint) => {
  let open: TestIndex
  beforeEach(() => {
    open = createTestIndex(endpoint, { knownFor: 0 })
  })
  afterEach(() => open.close())

  const some = (type: string, to: number, fields: Partial<IndexDocument> = {}) =>
    Array.from({ length: to }, (_, i) => document({ type, id: `${i}`, keys: { b: ['x'] }, groups: { 'b:code': ['x'] }, ...fields }))
  const plan = (...types: readonly string[]): Plan => ({
    ...{ tenant: 'one', types, where: and(), access: 'everything', order: [], limit: 1_000, total: 'accurate' },
  })
  const found = async (...types: readonly string[]) => (await open.index.find(plan(...types))).total
  const lacking = async () => encode((await open.state.read()).value).live!.lacking
  const wanted = async () => (await open.state.read()).value.rebuilds.map(({ type, tenant }) => `${type}${tenant}`)
  const drop = async (pattern: string) => {
    const { body } = await open.client.transport.request({ method: 'GET', path: `/_alias/${open.prefix}-${pattern}` })
    for (const name of Object.keys(body as object)) await open.client.transport.request({ method: 'DELETE', path: `/${name}` })
  }
  const rebuilt = async (type: string, documents: readonly IndexDocument[]) => {
    const rebuild = await open.index.rebuild(type)
    await rebuild.apply(documents)
    await rebuild.swap()
    await open.madeWhole(type, rebuild.identity)
  }

  it('answers no search of the lost type in any form, but answers others', async () => {
    await open.index.apply([...some('Patient', 2), ...some('Basic', 3)])
    await drop('patient-*')
    const grouping: GroupPlan = {
      tenant: 'one',
      types: ['Patient'],
      where: and(),
      access: 'everything',
      field: 'b:code',
      order: [],
      limit: 9,
      hits: 2,
    }
    const wide = ['Patient', 'Basic', ...Array.from({ length: 140 }, (_, i) => `Unused${i}`)]
    for (const search of [
      () => found('Patient'),
      () => found('Basic', 'Patient', 'Observation'),
      () => found(...wide),
      () => open.index.groups(grouping),
      () => open.index.distinct(plan('Patient'), 'b', 10),
    ])
      await expect(search()).rejects.toThrow(fault('unavailable'))
    expect(await found('Basic', 'Observation')).toBe(3)
    expect(await found(...wide.slice(1))).toBe(3)
    expect(await open.index.caughtUp([tokenOf(some('Patient', 1)[0]!)], 0)).toBe(false)
  })

  it('asks the engine once to detect the loss, and not once it is recorded', async () => {
    await open.index.apply(some('Patient', 1))
    await drop('patient-*')
    const asked: string[] = []
    const proxy = await startFaultyProxy(endpoint, ({ path }) => {
      asked.push(path)
      return undefined
    })
    const through = open.another({}, proxy.endpoint)
    await expect(through.find(plan('Patient'))).rejects.toThrow(fault('unavailable'))
    expect(asked).toHaveLength(1)
    await open.index.tend()
    await expect(through.find(plan('Patient'))).rejects.toThrow(fault('unavailable'))
    expect(asked).toHaveLength(1)
    await proxy.close()
  })

  it('does not treat a type without documents as lost', async () => {
    expect(await found('Patient')).toBe(0)
    await open.index.tend()
    await open.index.apply(some('Patient', 1))
    await open.index.apply(some('Patient', 1, { version: 2, deleted: true }))
    await open.index.tend()
    expect(await found('Patient')).toBe(0)
    expect([await lacking(), await wanted()]).toEqual([[], []])
  })

  it('finds the first document of a type even with an outdated list of types', async () => {
    await open.index.tend()
    const before = (await open.state.read()).value
    await open.index.apply(some('Patient', 1))
    const late = open.another({ live: async () => before })
    expect((await late.find(plan('Patient'))).total).toBe(1)
  })

  it('rebuilds every lost type once', async () => {
    await open.index.apply([...some('Patient', 2), ...some('Basic', 3)])
    await drop('patient-*')
    await Promise.all([open.index.tend(), open.another().tend()])
    expect(await open.index.tend()).toEqual(['Patient'])
    expect([await lacking(), await wanted()]).toEqual([['Patient'], ['Patient']])
    await rebuilt('Patient', some('Patient', 2))
    expect([await found('Patient'), await found('Basic'), await lacking(), await open.index.tend()]).toEqual([2, 3, [], []])
    await drop('patient-*')
    await expect(found('Patient')).rejects.toThrow(fault('unavailable'))
    expect(await open.index.tend()).toEqual(['Patient'])
  })

  it('rejects a write that detects the loss, records it, and creates no index', async () => {
    await open.index.apply([...some('Patient', 2), ...some('Basic', 1)])
    await drop('patient-*')
    const newer = some('Patient', 1, { version: 2 })
    const error = await open.index.apply([...newer, document({ type: 'Basic', id: '9' })]).catch((error: unknown) => error)
    expect(error).toMatchObject({ fault: 'not-applied', documents: [{ type: 'Patient', id: '0' }] })
    expect([await lacking(), await wanted(), await found('Basic')]).toEqual([['Patient'], ['Patient'], 2])
    // It is delivered again: the rebuild includes it.
    await open.index.apply(newer)
    await expect(found('Patient')).rejects.toThrow(fault('unavailable'))
  })

  it('finds an index in rebuild until it is removed, also once it is serving', async () => {
    await open.index.apply(some('Patient', 3))
    const removed = await open.index.rebuild('Patient')
    const isThere = (name: string) => open.index.isThere('Patient', name)
    expect(await isThere(removed.name)).toBe(true)
    await drop('patient-next-*')
    expect(await isThere(removed.name)).toBe(false)
    await expect(removed.apply(some('Patient', 3))).rejects.toThrow(fault('not-applied'))
    const next = await open.index.rebuild('Patient')
    await next.apply(some('Patient', 3))
    await next.swap()
    expect([await isThere(next.name), await found('Patient')]).toEqual([true, 3])
  })

  it('writes to the next index during a rebuild, also across the switch', async () => {
    await open.index.apply(some('Patient', 3))
    await drop('patient-*')
    await open.index.tend()
    const rebuild = await open.index.rebuild('Patient')
    await open.index.apply(some('Patient', 1, { version: 2 }))
    await rebuild.apply(some('Patient', 3))
    const before = (await open.state.read()).value
    const late = open.another({ knownFor: 1e9, live: async () => before })
    await late.apply(some('Patient', 1, { version: 3 }))
    await rebuild.swap()
    await expect(late.apply(some('Patient', 1, { version: 4 }))).rejects.toThrow(fault('not-applied'))
    expect(await lacking()).toEqual(['Patient'])
    await open.madeWhole('Patient', rebuild.identity)
    await open.index.apply(some('Patient', 1, { version: 4 }))
    const { hits } = await open.index.find(plan('Patient'))
    expect(hits.map(({ version }) => version)).toEqual([4, 1, 1])
  })

  it('searches no restored or foreign index, and replaces only its own', async () => {
    await open.index.apply(some('Patient', 2))
    const { types } = encode((await open.state.read()).value).live!
    await drop('patient-*')
    await open.index.tend()
    // A snapshot is restored, and another stage has an index of the same name.
    const back = `${open.prefix}-patient-v1-${types.Patient}`
    const foreign = `${open.prefix}-patient-v1-0123456789ab`
    for (const [index, identity] of [
      [back, types.Patient],
      [foreign, '0123456789ab'],
    ])
      await open.client.transport.request({
        method: 'PUT',
        path: `/${index}`,
        body: { aliases: { [`${open.prefix}-patient-${identity}`]: {} } },
      })
    await expect(found('Patient')).rejects.toThrow(fault('unavailable'))
    await open.index.tend()
    await rebuilt('Patient', some('Patient', 3))
    expect(await found('Patient')).toBe(3)
    const { body } = await open.client.transport.request({ method: 'GET', path: `/_alias/${open.prefix}-patient-*` })
    expect(Object.keys(body as object)).toEqual(expect.arrayContaining([foreign]))
    expect(Object.keys(body as object)).not.toContain(back)
  })
})
