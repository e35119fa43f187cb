/** Indices of several shards: the heartbeat is in each of them, a rebuild changes their number, and groups and pages are exact. */
import { afterEach, describe, expect, it } from '@jest/globals'
import { indexDefinition, shardSettings } from '../../../lambdas/adapters/opensearch/index-definition.ts'
import { shardRoutings } from '../../../lambdas/adapters/opensearch/shard-routing.ts'
import { tokenOf } from '../../../lambdas/adapters/opensearch/visibility.ts'
import { encode } from '../../../lambdas/indexing/lifecycle/stored-state.ts'
import { and, type GroupPlan, matchingOf, type Plan } from '../../../lambdas/ports/search/plan.ts'
import { document } from '../../contracts/index-document.ts'
import { createTestIndex, runOnOpenSearch, TEST_SETTINGS, type TestIndex, withShards } from '../../engines/opensearch-index.ts'

const SHARDS = 3

it('Each shard has a routing value of its own', () => {
  expect(shardRoutings(1)).toEqual([undefined])
  expect(new Set(shardRoutings(100)).size).toBe(100)
})

it('An index has the number of shards of its type, and one without a number', () => {
  const shards = { Observation: 12, Basic: 1 }
  expect(shardSettings(shards, 'Observation')).toEqual({ number_of_shards: 12, number_of_routing_shards: 12 })
  expect([shardSettings(shards, 'Basic'), shardSettings(shards, 'Patient')]).toEqual([{}, {}])
})

let open: TestIndex
const close = () => open.close()

runOnOpenSearch('OpenSearch with several shards', (endpoint) => {
  const ask = async <Answer = unknown>(method: string, path: string, body?: Readonly<Record<string, unknown>>): Promise<Answer> =>
    (await open.client.transport.request({ method, path, ...(body && { body }) })).body as Answer
  const some = (count: number) =>
    Array.from({ length: count }, (_, i) => {
      const [keys, groups] = [{ b: [`k${i % 7}`] }, { 'b:code': [`g${i % 61}`, `h${i % 2}`] }]
      return document({ type: 'Patient', id: `${i}`, keys, groups, order: { b: { low: i % 10, high: i % 10 } } })
    })
  const plan: Plan = {
    ...{ tenant: 'one', types: ['Patient'], where: and(), access: 'everything', order: [], limit: 1_000, total: 'accurate', pulse: true },
  }
  const liveAlias = async () => `${open.prefix}-patient-${encode((await open.state.read()).value).live!.identity}`
  const shardCount = async () => {
    const settings = await ask<Readonly<Record<string, { settings: { index: { number_of_shards: string } } }>>>(
      'GET',
      `/${await liveAlias()}/_settings`,
    )
    return Number(Object.values(settings)[0]!.settings.index.number_of_shards)
  }
  const seen = async () => (await open.index.find(plan)).pulse

  describe('A heartbeat', () => {
    afterEach(close)

    it.each([2, 3, 7, 32])('is written to each of %i shards', async (count) => {
      open = createTestIndex(endpoint)
      const index = `${open.prefix}-basic-v1-id`
      const body = indexDefinition(shardSettings({ Basic: count }, 'Basic'))
      await ask('PUT', `/${index}`, body)
      const found = await Promise.all(
        shardRoutings(count).map((routing) =>
          ask<{ readonly shards: readonly (readonly { readonly shard: number }[])[] }>(
            'GET',
            `/${index}/_search_shards?routing=${routing}`,
          ),
        ),
      )
      expect(found.map(({ shards }) => shards.map(([copy]) => copy!.shard))).toEqual(Array.from({ length: count }, (_, i) => [i]))
    })

    it('counts as visible once every shard shows it', async () => {
      open = createTestIndex(endpoint, {
        knownFor: 0,
        refresh: 'none',
        settings: { ...TEST_SETTINGS, refresh_interval: -1 },
        ...withShards(SHARDS),
      })
      await open.index.apply(some(60))
      const refreshFirst = async (id: string) => {
        const alias = await liveAlias()
        await ask('POST', `/${alias}/_doc/${id}?routing=${shardRoutings(SHARDS)[0]}&refresh=true`, { lastUpdated: 1 })
      }
      const held = await open.index.pulse(1_000, {})
      await refreshFirst('a')
      expect(await seen()).toBeUndefined()
      await open.index.show('Patient')
      expect(await seen()).toBe(1_000)
      await open.index.pulse(2_000, held)
      await refreshFirst('b')
      expect(await seen()).toBe(1_000)
      await open.index.show('Patient')
      expect(await seen()).toBe(2_000)
    })

    it('shows that one shard was restored to an earlier state, which causes a rebuild', async () => {
      open = createTestIndex(endpoint, { knownFor: 0, ...withShards(SHARDS) })
      await open.index.apply(some(60))
      const held = await open.index.pulse(1_000, {})
      await open.index.show('Patient')
      expect([await seen(), await open.index.tend(held)]).toEqual([1_000, []])
      await ask('DELETE', `/${await liveAlias()}/_doc/pulse?routing=${shardRoutings(SHARDS)[2]}&refresh=true`)
      expect(await seen()).toBeUndefined()
      expect(await open.index.tend(held)).toEqual(['Patient'])
      expect(await open.index.pulse(2_000, held)).toEqual({})
    })
  })

  describe('An index of several shards', () => {
    afterEach(close)

    it('gets another number of shards by a rebuild, with documents and heartbeat', async () => {
      open = createTestIndex(endpoint, { knownFor: 0 })
      await open.index.apply(some(60))
      let held = await open.index.pulse(1_000, {})
      for (const [count, sent] of [
        [SHARDS, 2_000],
        [SHARDS + 2, 3_000],
        [1, 4_000],
      ] as const) {
        const next = open.another(withShards(count))
        const rebuild = await next.rebuild('Patient')
        await rebuild.apply(some(60))
        await rebuild.swap()
        await next.show('Patient')
        const { total, pulse } = await next.find(plan)
        expect([await shardCount(), total, pulse, await next.tend(held)]).toEqual([count, 60, sent - 1_000, []])
        held = await next.pulse(sent, held)
        expect(held.Patient?.sent).toBe(sent)
        await next.show('Patient')
      }
    })

    it('shows documents although some copies have no node', async () => {
      const settings = { ...TEST_SETTINGS, auto_expand_replicas: false, number_of_replicas: 2, refresh_interval: -1 }
      open = createTestIndex(endpoint, { refresh: 'none', ...withShards(SHARDS), settings })
      await open.index.apply(some(60))
      expect((await open.index.find(plan)).total).toBe(0)
      expect(await open.index.caughtUp(some(60).map(tokenOf), 10_000)).toBe(true)
      expect((await open.index.find(plan)).total).toBe(60)
    })

    it('keeps groups, totals, keys and pages exact', async () => {
      open = createTestIndex(endpoint, withShards(SHARDS))
      const documents = some(500)
      await open.index.apply(documents)
      const grouping: GroupPlan = { ...matchingOf(plan), field: 'b:code', order: [{ field: 'b', descending: true }], limit: 100, hits: 2 }
      const { groups, total } = await open.index.groups(grouping)
      const sizes = Map.groupBy(
        documents.flatMap((each) => each.groups['b:code']!),
        (key) => key,
      )
      expect(total).toBe(500)
      expect(Object.fromEntries(groups.map(({ key, size }) => [key, size]))).toEqual(
        Object.fromEntries([...sizes].map(([key, all]) => [key, all.length])),
      )
      expect([...(await open.index.distinct(plan, 'b', 3))].toSorted()).toEqual(['k0', 'k1', 'k2'])
      const order = [{ field: 'b', descending: false }] as const
      const walked: string[] = []
      for (let after: Plan['after']; ; ) {
        const page = await open.index.find({ ...plan, order, limit: 30, ...(after === undefined ? {} : { after }) })
        expect(page.total).toBe(500)
        walked.push(...page.hits.map(({ id }) => id))
        if (!page.more) break
        after = page.hits.at(-1)!.position
      }
      const expected = documents.map(({ id, order: sort }) => ({ id, low: Number(sort.b!.low) }))
      expect(walked).toEqual(expected.toSorted((a, b) => a.low - b.low || (a.id < b.id ? -1 : 1)).map(({ id }) => id))
    })
  })
})
