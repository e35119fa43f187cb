/** Settings of an index while a rebuild fills it, and after it is full. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { FILL_SETTINGS } from '../../../lambdas/adapters/opensearch/next-index.ts'
import { and } from '../../../lambdas/ports/search/plan.ts'
import { document } from '../../contracts/index-document.ts'
import { createTestIndex, runOnOpenSearch, type TestIndex } from '../../engines/opensearch-index.ts'

runOnOpenSearch('A next index', (endpoint) => {
  let open: TestIndex
  beforeAll(() => {
    open = createTestIndex(endpoint, { fillSettings: FILL_SETTINGS, refresh: 'none', knownFor: 0 })
  })
  afterAll(() => open.close())

  const settingsOf = async (index: string) => {
    const { body } = await open.client.transport.request({ method: 'GET', path: `/${index}/_settings?flat_settings` })
    const { settings } = (body as Readonly<Record<string, { readonly settings: Readonly<Record<string, string>> }>>)[index]!
    return [settings['index.auto_expand_replicas'], settings['index.refresh_interval'], settings['index.number_of_replicas']]
  }

  it('has no replicas and few refreshes until it is full, and those of its settings afterwards', async () => {
    await open.index.apply([document({ id: 'a' })])
    const rebuild = await open.index.rebuild('Observation')
    expect(await settingsOf(rebuild.name)).toEqual(['false', '60s', '0'])
    await rebuild.apply([document({ id: 'a' })])
    expect(await open.index.isSound('Observation', rebuild.name)).toBe(true)
    while ((await rebuild.complete()) !== 'green');
    const replicas = Number(process.env.OPENSEARCH_NODES) > 1 ? '1' : '0'
    expect(await settingsOf(rebuild.name)).toEqual(['0-1', '20ms', replicas])
    await rebuild.swap()
    const plan = { tenant: 'one', types: ['Observation'], where: and(), access: 'everything', order: [], limit: 9, total: 'none' } as const
    expect((await open.index.find(plan)).hits).toHaveLength(1)
    expect(await open.index.isSound('Observation', 'another')).toBe(false)
  })

  it('gets the number of replicas that its settings name', async () => {
    const index = open.another({ settings: { number_of_replicas: 0 } })
    const rebuild = await index.rebuild('Basic')
    expect(await rebuild.complete()).toBe('green')
    expect(await settingsOf(rebuild.name)).toEqual(['false', '1s', '0'])
  })
})
