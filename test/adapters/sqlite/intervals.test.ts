/** Wide searches of intervals use ranks of the field. They find the same documents as a test of each interval, also after changes. */
import { describe, expect, it } from '@jest/globals'
import { isWithinBounds, rangesTestOf } from '../../../lambdas/adapters/sqlite-index/intervals/interval-test.ts'
import { type Interval, Intervals } from '../../../lambdas/adapters/sqlite-index/intervals/intervals.ts'
import { RankedField } from '../../../lambdas/adapters/sqlite-index/intervals/ranked-field.ts'
import { RankedFields } from '../../../lambdas/adapters/sqlite-index/intervals/ranked-fields.ts'
import { listOf } from '../../../lambdas/adapters/sqlite-index/lists/document-sets.ts'
import { searchBudgetOf } from '../../../lambdas/adapters/sqlite-index/reading/budget.ts'
import { openIndex } from '../../../lambdas/adapters/sqlite-index/schema.ts'
import type { RangeTest } from '../../../lambdas/ports/search/plan.ts'
import { type Random, randomOf } from '../../contracts/generated-search.ts'
import { caseCountOf, firstSeed } from '../../fixtures/long-runs.ts'

const ROUNDS = caseCountOf(2, 30)
const SEARCHES = 12
/** Field number. */
const FIELD = 1
/** Documents that fill more blocks than a search reads one by one. */
const DOCS = 24_000
const LIMITS = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY, 0, 5, 5.5] as const

/** `values`: number of different lower bounds. */
function intervalOf(random: Random, values: number): Interval {
  const low = random.below(40) === 0 ? Number.NEGATIVE_INFINITY : random.below(values)
  return [low, random.below(40) === 0 ? Number.POSITIVE_INFINITY : Math.max(low, 0) + random.below(5)]
}

/** One or two alternatives, such as the range of a date with the prefix ge. */
function rangesOf(random: Random): readonly RangeTest[] {
  const limit = (): number => (random.below(3) === 0 ? random.pick(LIMITS) : random.below(random.pick([20, 10_000])))
  const range = (): RangeTest => ({
    ...{ kind: random.pick(['span', 'number']), relation: random.pick(['within', 'intersects']) },
    ...{ low: limit(), high: limit() },
  })
  return Array.from({ length: 1 + random.below(2) }, range)
}

describe('Wide searches of intervals', () => {
  const seed = firstSeed()
  const random = randomOf(seed)

  it('equal a test of each interval, after each change', () => {
    for (let round = 0; round < ROUNDS; round++) {
      const db = openIndex(':memory:')
      const intervals = new Intervals(db, searchBudgetOf(db, Number.POSITIVE_INFINITY))
      const stored = new Map<number, readonly Interval[]>()
      const values = random.pick([3, 20, 10_000])
      const distance = random.pick([1, 2, 8])
      let next = 1
      const put = (doc: number, several = false): void => {
        const added = Array.from({ length: several ? 3 : 1 }, () => intervalOf(random, values))
        if (stored.has(doc)) intervals.remove(FIELD, doc)
        intervals.add(FIELD, doc, added)
        stored.set(doc, added)
      }
      const write = (): void => {
        for (const _ of intervals.writing());
      }
      const compare = (step: string): void => {
        for (let i = 0; i < SEARCHES; i++) {
          const ranges = rangesOf(random)
          const test = { ...rangesTestOf([], 1), anyOf: ranges.flatMap((range) => rangesTestOf([range], 1).anyOf) }
          const passes = ([low, high]: Interval): boolean => test.anyOf.some((bounds) => isWithinBounds(low, high, bounds))
          const wanted = [...stored].filter(([, each]) => each.some(passes)).map(([doc]) => doc).sort((a, b) => a - b) // biome-ignore format: one line
          const found = intervals.read([FIELD], test, undefined)
          const textOf = (docs: ArrayLike<number>) => `${seed} ${round} ${step} ${JSON.stringify(ranges)}: ${Array.from(docs).join(' ')}`
          expect(textOf(listOf(found))).toBe(textOf(wanted))
          expect(found.length).toBe(wanted.length)
          expect(intervals.estimate([FIELD], test)).toBeGreaterThanOrEqual(wanted.length)
        }
      }
      for (let i = 0; i < DOCS; i++, next += 1 + random.below(distance)) put(next)
      write()
      compare('written')
      const docs = [...stored.keys()]
      put(random.pick(docs))
      compare('a change in memory')
      write()
      compare('a change')
      for (let i = 0; i < 600; i++, next++) put(next)
      write()
      compare('others at the end')
      for (const doc of docs.slice(2_000, 2_600)) {
        intervals.remove(FIELD, doc)
        stored.delete(doc)
      }
      write()
      compare('a block less')
      for (const doc of docs.slice(0, 500)) {
        intervals.remove(FIELD, doc)
        stored.delete(doc)
      }
      write()
      compare('no first block')
      for (const doc of docs.slice(12_000)) put(doc)
      write()
      compare('half of them changed')
      put(docs[14_000]!, true)
      write()
      compare('several intervals of a document')
      for (const doc of docs.slice(3_000)) put(doc)
      write()
      compare('ranked again')
      db.close()
    }
  })

  it('rank the intervals of dense documents with one each', () => {
    const one = Float64Array.of(1, 2, 3)
    const ranksOf = (...docs: number[]) => RankedField.of([{ docs: Uint32Array.from(docs), lows: one, highs: one }])
    expect(ranksOf(1, 2, 3)).toBeDefined()
    expect(ranksOf(1, 2, 2)).toBeUndefined()
    expect(ranksOf(1, 2, 1_000)).toBeUndefined()
  })

  it('do not displace ranks that other searches use', () => {
    const docs = Uint32Array.from({ length: 1_000 }, (_, i) => i + 1)
    const blocks = {
      first: 1,
      last: 1_000,
      n: 1_000,
      read: () => [{ docs, lows: new Float64Array(1_000), highs: new Float64Array(1_000) }],
    }
    const fields = new RankedFields(50_000)
    expect(fields.of(1, blocks)).toBeDefined()
    expect(fields.of(2, blocks)).toBeUndefined()
    for (let i = 0; i < 1_000; i++) fields.of(1, blocks)
    expect(fields.of(2, blocks)).toBeUndefined()
    for (let i = 0; i < 1_001; i++) fields.of(3, blocks)
    expect([fields.of(3, blocks), fields.unchanged(1)]).toEqual([expect.anything(), undefined])
  })
})
