/** Conditional interactions where the index is behind: the latest writes count. */
import { describe, expect, it } from '@jest/globals'
import { SqliteSearchIndex } from '../../lambdas/adapters/sqlite-index/search-index.ts'
import { latestIndex } from '../../lambdas/interactions/latest-index.ts'
import type { RecentWrites } from '../../lambdas/ports/recent-writes.ts'
import type { ResourceVersion } from '../../lambdas/ports/resource-store.ts'
import { customMappings } from '../../lambdas/search/custom.ts'
import { extract } from '../../lambdas/search/extract.ts'
import type { Plan } from '../../lambdas/search/plan.ts'
import { atEnd } from '../fixtures/at-end.ts'
import { EXPRESSIONS } from '../fixtures/expressions.ts'
import { patient } from '../fixtures/resources.ts'
import { deletionOf, patientOf, versionOf, writeOf } from '../fixtures/versions.ts'

const NOW = 1_000_000
const named = (id: string, family: string, versionId = 1, lastUpdated = NOW - 1_000): ResourceVersion =>
  versionOf(writeOf(patientOf(id, 'a'), { expected: versionId - 1, lastUpdated, body: patient(id, { family }) }))
const treeOf = ({ body, deleted }: ResourceVersion) => (deleted ? undefined : JSON.parse(new TextDecoder().decode(body)))

/** `indexed`: what the index knows; `written`: all versions of the store. */
async function world(indexed: readonly ResourceVersion[], written: readonly ResourceVersion[]) {
  const index = new SqliteSearchIndex(':memory:')
  await index.apply(indexed.map((version) => extract(version, treeOf(version))))
  const newestFirst = written.toSorted((a, b) => b.lastUpdated - a.lastUpdated || b.versionId - a.versionId)
  const asked: (readonly [since: number, most: number])[] = []
  const resources: RecentWrites = {
    async *recent(_scope, since, most) {
      asked.push([since, most])
      const heads = new Map(newestFirst.toReversed().map((version) => [version.id, version]))
      yield* [...heads.values()].filter(({ lastUpdated }) => lastUpdated >= since).slice(0, most)
    },
  }
  const clock = { now: () => NOW, newId: () => 'id' }
  const latest = latestIndex({ index, resources, clock, expressions: EXPRESSIONS, reading: () => ({}) })
  const find = async (limit = 2): Promise<readonly string[]> => {
    const where = { kind: 'keyRange', field: 'family', from: 'a', to: 'b' } as const
    const plan: Plan = { tenant: 'a', types: ['Patient'], where, access: 'everything', order: [], limit, total: 'none' }
    const { hits, more } = await latest.find(plan)
    return [...hits.map(({ id, version }) => `${id}/${version}`), ...(more ? ['…'] : [])]
  }
  atEnd(() => index.close())
  return { find, asked }
}

describe('the latest writes', () => {
  it('of which nobody knows whether they match are no reason to say that none does', async () => {
    const definition = {
      resourceType: 'SearchParameter', id: 'own', url: 'own', status: 'active', code: 'own', base: ['Patient'], type: 'string',
      expression: 'Patient.repeat(name).given.where($this is string).single()',
    } // biome-ignore format: one resource
    const custom = customMappings(definition, 'a')
    const index = new SqliteSearchIndex(':memory:')
    atEnd(() => index.close())
    const several = versionOf(
      writeOf(patientOf('several', 'a'), { body: { resourceType: 'Patient', id: 'several', name: [{ given: ['A', 'B'] }] } }),
    )
    const latest = latestIndex({
      index,
      resources: { recent: async function* () { yield several } },
      clock: { now: () => NOW, newId: () => 'id' },
      expressions: EXPRESSIONS,
      reading: () => ({ custom }),
    }) // biome-ignore format: one index
    const asked = (field: string, access: Plan['access'] = 'everything', type = 'Patient') =>
      latest.find({
        tenant: 'a',
        types: [type],
        where: { kind: 'key', field, oneOf: ['a'] },
        access,
        order: [],
        limit: 2,
        total: 'none',
      })
    const own = `${custom[0]!.field}:exact`
    const onlyOf = (id: string): Plan['access'] => ({ Patient: { kind: 'key', field: '_id:code', oneOf: [id] } })
    await expect(asked(own)).rejects.toThrow('The parameter own has no values of some Patient resources')
    await expect(asked(own, onlyOf('several'))).rejects.toThrow('The parameter own has no values of some Patient resources')
    // What is hidden decides nothing.
    expect((await asked(own, onlyOf('other'))).hits).toEqual([])
    expect((await asked('family:exact')).hits).toEqual([])
  })

  it('are found before they are indexed', async () => {
    expect(await (await world([], [named('p', 'Adams')])).find()).toEqual(['p/1'])
    expect(await (await world([named('o', 'Abel')], [named('p', 'Adams')])).find()).toEqual(['o/1', 'p/1'])
  })

  it('take the place of what the index still knows', async () => {
    const known = [named('p', 'Adams'), named('q', 'Abel'), named('r', 'Baker')]
    const renamed = named('p', 'Baker', 2)
    const gone = versionOf(deletionOf(patientOf('q', 'a'), { expected: 1, lastUpdated: NOW - 500 }))
    const married = named('r', 'Adams', 2)
    expect(await (await world(known, [...known, renamed, gone, married])).find()).toEqual(['r/2'])
  })

  it('do not hide that there are more matches than were asked for', async () => {
    const known = ['o', 'p', 'q', 'r'].map((id) => named(id, 'Abel'))
    expect(await (await world(known, [named('p', 'Baker', 2)])).find()).toEqual(['o/1', 'q/1', '…'])
  })

  it('are those of a minute: what is older is left to the index, and not read', async () => {
    const older = Array.from({ length: 500 }, (_, i) => named(`old${i}`, 'Adams', 1, NOW - 61_000 - i))
    const { find, asked } = await world([], [...older, named('p', 'Adams')])
    expect(await find()).toEqual(['p/1'])
    expect(asked).toEqual([[NOW - 60_000, 2_000]])
  })

  it('are read once for all that one attempt searches, at once or later', async () => {
    const { find, asked } = await world([named('o', 'Abel')], [named('p', 'Adams')])
    const found = ['o/1', 'p/1']
    expect(await Promise.all([...Array(200)].map(() => find()))).toEqual(Array(200).fill(found))
    expect([await find(), asked]).toEqual([found, [[NOW - 60_000, 2_000]]])
  })

  it('may be more than the index gives at once: what it knows besides is found behind them', async () => {
    const known = [...Array(250).keys()].map((n) => named(`k${String(n).padStart(3, '0')}`, 'Abel'))
    const renamed = known.slice(0, 240).map(({ id }) => named(id, 'Baker', 2))
    expect(await (await world(known, renamed)).find()).toEqual(['k240/1', 'k241/1', '…'])
    const all = known.map(({ id }) => named(id, 'Baker', 2))
    expect(await (await world(known, all)).find()).toEqual([])
  })
})
