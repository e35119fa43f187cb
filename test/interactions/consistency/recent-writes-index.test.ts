/** Conditional interactions where the index is behind: the latest writes count. */
import { describe, expect, it } from '@jest/globals'
import { SqliteSearchIndex } from '../../../lambdas/adapters/sqlite-index/search-index.ts'
import type { FhirError } from '../../../lambdas/fhir/outcome.ts'
import { recentWritesIndex } from '../../../lambdas/interactions/consistency/recent-writes-index.ts'
import { indexBehind } from '../../../lambdas/ports/faults.ts'
import type { Plan } from '../../../lambdas/ports/search/plan.ts'
import type { HitPage, SearchIndex } from '../../../lambdas/ports/search/search-index.ts'
import type { RecentWrites } from '../../../lambdas/ports/store/recent-writes.ts'
import type { ResourceVersion } from '../../../lambdas/ports/store/resource-store.ts'
import { customMappingsOf } from '../../../lambdas/search/custom/custom-parameters.ts'
import { extract } from '../../../lambdas/search/documents/extract.ts'
import { runAtEnd } from '../../fixtures/at-end.ts'
import { EXPRESSIONS } from '../../fixtures/expressions.ts'
import { patient } from '../../fixtures/resources.ts'
import { deletionOf, patientKeyOf, versionOf, writeOf } from '../../fixtures/versions.ts'

const NOW = 1_000_000
const named = (id: string, family: string, versionId = 1, lastUpdated = NOW - 1_000): ResourceVersion =>
  versionOf(writeOf(patientKeyOf(id, 'a'), { expected: versionId - 1, lastUpdated, body: patient(id, { family }) }))
const treeOf = ({ body, deleted }: ResourceVersion) => (deleted ? undefined : JSON.parse(new TextDecoder().decode(body)))

/** Of what is searched in a regular minute. */
const PULSE = NOW - 30_000

/**
 * `indexed`: what the index knows; `written`: all versions of the store; `pulses`: of each search one after the other, and the last of all
 * others.
 */
async function world(indexed: readonly ResourceVersion[], written: readonly ResourceVersion[], ...pulses: readonly (number | undefined)[]) {
  const sqlite = new SqliteSearchIndex(':memory:')
  const left = pulses.length === 0 ? [PULSE] : [...pulses]
  const found: Plan[] = []
  const index = Object.assign(Object.create(sqlite) as SearchIndex, {
    async find(plan: Plan): Promise<HitPage> {
      found.push(plan)
      const pulse = left.length > 1 ? left.shift() : left[0]
      return { ...(await sqlite.find(plan)), ...(pulse === undefined || plan.pulse === undefined ? {} : { pulse }) }
    },
  })
  await sqlite.apply(indexed.map((version) => extract(version, treeOf(version))))
  const newestFirst = written.toSorted((a, b) => b.lastUpdated - a.lastUpdated || b.versionId - a.versionId)
  const asked: (readonly [since: number, most: number])[] = []
  const resources: RecentWrites = {
    async *recent(_scope, since, most) {
      asked.push([since, most])
      const heads = new Map(newestFirst.toReversed().map((version) => [version.id, version]))
      if (newestFirst.filter(({ lastUpdated }) => lastUpdated >= since).length > most) throw indexBehind()
      yield* [...heads.values()].filter(({ lastUpdated }) => lastUpdated >= since)
    },
  }
  const clock = { now: () => NOW, newId: () => 'id' }
  const latest = recentWritesIndex({ index, resources, clock, expressions: EXPRESSIONS, reading: () => ({}), maxVersions: 2_000 })
  const find = async (limit = 2): Promise<readonly string[]> => {
    const where = { kind: 'keyRange', field: 'family', from: 'a', to: 'b' } as const
    const plan: Plan = { tenant: 'a', types: ['Patient'], where, access: 'everything', order: [], limit, total: 'none' }
    const { hits, more } = await latest.find(plan)
    return [...hits.map(({ id, version }) => `${id}/${version}`), ...(more ? ['…'] : [])]
  }
  runAtEnd(() => sqlite.close())
  return { find, asked, found }
}

const errorOf = async (promise: Promise<unknown>): Promise<FhirError> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  ) as Promise<FhirError>

describe('the latest writes', () => {
  it('block a conditional interaction if they may match and are visible', async () => {
    const definition = {
      resourceType: 'SearchParameter', id: 'own', url: 'own', status: 'active', code: 'own', base: ['Patient'], type: 'string',
      expression: 'Patient.repeat(name).given.where($this is string).single()',
    } // biome-ignore format: one resource
    const custom = customMappingsOf(definition, 'a')
    const index = new SqliteSearchIndex(':memory:')
    runAtEnd(() => index.close())
    const several = versionOf(
      writeOf(patientKeyOf('several', 'a'), { body: { resourceType: 'Patient', id: 'several', name: [{ given: ['A', 'B'] }] } }),
    )
    const latest = recentWritesIndex({
      index,
      resources: { recent: async function* () { yield several } },
      clock: { now: () => NOW, newId: () => 'id' },
      expressions: EXPRESSIONS,
      reading: () => ({ custom }),
      maxVersions: 2_000,
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

  it('replace older versions of the index', async () => {
    const known = [named('p', 'Adams'), named('q', 'Abel'), named('r', 'Baker')]
    const renamed = named('p', 'Baker', 2)
    const gone = versionOf(deletionOf(patientKeyOf('q', 'a'), { expected: 1, lastUpdated: NOW - 500 }))
    const married = named('r', 'Adams', 2)
    expect(await (await world(known, [...known, renamed, gone, married])).find()).toEqual(['r/2'])
  })

  it('do not hide the presence of more matches', async () => {
    const known = ['o', 'p', 'q', 'r'].map((id) => named(id, 'Abel'))
    expect(await (await world(known, [named('p', 'Baker', 2)])).find()).toEqual(['o/1', 'q/1', '…'])
  })

  it('cover one minute if the heartbeat is younger', async () => {
    const older = Array.from({ length: 500 }, (_, i) => named(`old${i}`, 'Adams', 1, NOW - 61_000 - i))
    const { find, asked } = await world([], [...older, named('p', 'Adams')])
    expect(await find()).toEqual(['p/1'])
    expect(asked).toEqual([[NOW - 60_000, 2_000]])
  })

  it('cover the time since the heartbeat, plus the tolerance for late commits', async () => {
    const sent = NOW - 200_000
    const written = [named('missed', 'Adams', 1, sent - 12_000), named('older', 'Adams', 1, sent - 15_001)]
    const { find, asked, found } = await world([], written, sent)
    expect(await find()).toEqual(['missed/1'])
    expect([asked, found.length]).toEqual([[[sent - 15_000, 2_000]], 1])
  })

  it('cover all versions without a heartbeat', async () => {
    const { find, asked } = await world([], [named('p', 'Adams', 1, 1)], undefined)
    expect(await find()).toEqual(['p/1'])
    expect(asked).toEqual([[0, 2_000]])
  })

  it('cover all versions if the heartbeat is too far in the future', async () => {
    const asked = async (pulse: number) => {
      const it = await world([], [named('p', 'Adams', 1, 1)], pulse)
      await it.find()
      return it.asked
    }
    expect([await asked(NOW + 15_000), await asked(NOW + 15_001)]).toEqual([[[NOW - 60_000, 2_000]], [[0, 2_000]]])
  })

  it('are 503 with Retry-After for an index lag above five minutes', async () => {
    expect(await (await world([], [named('p', 'Adams')], NOW - 300_000)).find()).toEqual(['p/1'])
    const { find, asked } = await world([], [named('p', 'Adams')], NOW - 300_001)
    const { status, headers, issues } = await errorOf(find())
    expect([status, headers, asked]).toEqual([503, { 'retry-after': '60' }, []])
    expect(issues).toEqual([
      {
        severity: 'error',
        code: 'throttled',
        text: 'The search index of Patient is more than 5 minutes behind: what depends on a search cannot be done. Nothing was done: try again',
      },
    ])
  })

  it('are limited to 2,000 versions', async () => {
    const several = (count: number) => Array.from({ length: count }, (_, i) => named('p', 'Adams', count - i, NOW - 1_000 - i))
    expect(await (await world([], several(2_000))).find()).toEqual(['p/2000'])
    const { status, headers, message } = await errorOf((await world([], several(2_001))).find())
    expect([status, headers]).toEqual([503, { 'retry-after': '60' }])
    expect(message).toMatch(/^More than 2,000 versions of Patient were written that the search index may not have yet: /)
  })

  it('are read again if a later search meets an index with more lag', async () => {
    const late = named('late', 'Adams', 1, NOW - 100_000)
    const { find, asked } = await world([], [late], PULSE, NOW - 120_000, PULSE)
    expect([await find(), await find(), await find()]).toEqual([[], ['late/1'], ['late/1']])
    expect(asked.map(([since]) => since)).toEqual([NOW - 60_000, NOW - 135_000])
  })

  it('are read once for all searches of one attempt', async () => {
    const { find, asked } = await world([named('o', 'Abel')], [named('p', 'Adams')])
    const found = ['o/1', 'p/1']
    expect(await Promise.all([...Array(200)].map(() => find()))).toEqual(Array(200).fill(found))
    expect([await find(), asked]).toEqual([found, [[NOW - 60_000, 2_000]]])
  })

  it('may be more than one page of the index', async () => {
    const known = [...Array(250).keys()].map((n) => named(`k${String(n).padStart(3, '0')}`, 'Abel'))
    const renamed = known.slice(0, 240).map(({ id }) => named(id, 'Baker', 2))
    expect(await (await world(known, renamed)).find()).toEqual(['k240/1', 'k241/1', '…'])
    const all = known.map(({ id }) => named(id, 'Baker', 2))
    expect(await (await world(known, all)).find()).toEqual([])
    // One that is found at once is not all.
    const between = known.slice(1, 249).map(({ id }) => named(id, 'Baker', 2))
    expect(await (await world(known, between)).find()).toEqual(['k000/1', 'k249/1'])
  })
})
