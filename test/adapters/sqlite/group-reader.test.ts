/** Groups from cached columns equal the groups that the index reads from the forward entries of all matches. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, it } from '@jest/globals'
import { GroupLegend } from '../../../lambdas/adapters/sqlite-index/reading/group-numbers.ts'
import { SqliteSearchIndex } from '../../../lambdas/adapters/sqlite-index/search-index.ts'
import { ALWAYS_TRUE, type GroupPlan, MAX_GROUPS, type Predicate } from '../../../lambdas/ports/search/plan.ts'
import type { IndexDocument } from '../../../lambdas/ports/search/search-index.ts'
import { type Random, randomOf } from '../../contracts/generated-search.ts'
import { document } from '../../contracts/index-document.ts'
import { caseCountOf, firstSeed } from '../../fixtures/long-runs.ts'
import { fault } from '../../fixtures/machine-fault.ts'

/** Fields whose groups follow from several key fields, with explicit groups or without. */
const GROUP_FIELDS = ['g:code', 'g:system', 'h:code', 'i:code', '_id:code'] as const
const KEY_FIELDS = ['g:code', 'g:exact', 'g', 'h', 'h:code'] as const
const KEYS = ['', 'a', 'b', 'x|a', 'x|b', 'é', '\uffee', '\u{1f600}', '"', '\\', '[7,['] as const
/** Texts that share a beginning, and numbers that share their value. */
const TEXTS = ['same-beginning-1', 'same-beginning-2', 'same-beginning-\u{1f600}', 'other', '', '\uffee', '\u{1f600}'] as const
const ORDERS = [['number'], ['text'], ['number', 'text'], ['rare', 'number'], ['never'], []] as const

const some = <T>({ below, pick }: Random, of: readonly T[]): readonly T[] => [...new Set(Array.from({ length: below(4) }, () => pick(of)))]

function contentOf(random: Random): Partial<IndexDocument> {
  const { below, pick } = random
  const keys = Object.fromEntries(KEY_FIELDS.map((field) => [field, some(random, KEYS)]).filter(([, values]) => values!.length > 0))
  const implied = { 'g:code': keys['g:code'] ?? [], 'g:system': keys['g:exact'] ?? [] }
  const order = {
    ...(below(5) > 0 ? { number: { low: below(6), high: below(6) + 6 } } : {}),
    ...(below(5) > 0 ? { text: { low: pick(TEXTS), high: pick(TEXTS) } } : {}),
    ...(below(9) === 0 ? { rare: { low: below(3), high: 3 } } : {}),
  }
  return {
    keys: { ...keys, all: [pick(['one', 'two'])] },
    groups: below(2) === 0 ? implied : { 'g:code': some(random, KEYS), 'h:code': some(random, KEYS), 'i:code': [`i${below(30)}`] },
    order,
    present: [...Object.keys(order), ...(below(2) === 0 ? ['g', 'h'] : [])],
  }
}

/** Returns a function that creates the next version of a random document. */
function writerOf(random: Random): () => IndexDocument {
  const versions = new Map<string, number>()
  return () => {
    const id = `${random.pick(['', 'long-beginning-'])}${random.below(40)}`
    const type = random.pick(['Observation', 'Patient'])
    const tenant = random.below(6) === 0 ? 'two' : 'one'
    const version = (versions.get(`${tenant}/${type}/${id}`) ?? 0) + 1
    versions.set(`${tenant}/${type}/${id}`, version)
    return document({ tenant, type, id, version, ...(random.below(8) === 0 ? { deleted: true } : contentOf(random)) })
  }
}

function planOf(random: Random): GroupPlan {
  const where: readonly Predicate[] = [
    ALWAYS_TRUE,
    { kind: 'key', field: 'all', oneOf: ['one'] },
    { kind: 'key', field: 'g:code', oneOf: ['a'] },
  ]
  return {
    tenant: random.pick(['one', 'one', 'two']),
    types: random.pick([['Observation'], ['Patient'], ['Observation', 'Patient']]),
    where: random.pick(where),
    access: 'everything',
    field: random.pick(GROUP_FIELDS),
    order: random.pick(ORDERS).map((field) => ({ field, descending: random.below(2) === 0 })),
    hits: 1 + random.below(4),
    limit: random.below(8) === 0 ? 0 : 1 + random.below(5),
    ...(random.below(4) === 0 ? { skip: random.below(5) } : {}),
  }
}

describe('Groups of an index', () => {
  it('are the same with and without cached columns, after any writes', () => {
    const seed = firstSeed()
    const random = randomOf(seed)
    const write = writerOf(random)
    // The third index has room for two columns, so it reads columns again and again.
    const indices = [{}, { leading: 0 }, { leading: 6_000 }].map((options) => new SqliteSearchIndex(':memory:', options))
    for (let round = 0; round < caseCountOf(300, 2_000); round++) {
      const documents = Array.from({ length: 1 + random.below(6) }, write)
      const [commits, fails] = [random.below(4) === 0, random.below(20) === 0]
      for (const index of indices) {
        index.applyNow(documents)
        if (commits || fails) index.commit()
        // Rolls back the documents of the next call, which the caches must forget.
        if (fails) expect(() => index.applyNow([document({ id: 'bad', version: {} as number })])).toThrow()
      }
      for (let search = 0; search < 4; search++) compareAllPages(indices, planOf(random), { seed, round })
    }
    for (const index of indices) index.close()
  })

  it('are the same at every step of a document with very many values', () => {
    const random = randomOf(7)
    const indices = [{}, { leading: 0 }].map((options) => new SqliteSearchIndex(':memory:', options))
    const large = (version: number, end: number): IndexDocument =>
      document({
        ...{ id: 'large', version, ...contentOf(random) },
        keys: { many: Array.from({ length: 11_000 }, (_, i) => `${version} ${i}`), 'g:code': ['a', `${end}`] },
        groups: { 'g:code': ['a', `${end}`], 'h:code': [`${version}`] },
      })
    for (const index of indices) index.applyNow(Array.from({ length: 30 }, (_, i) => document({ id: `${i}`, ...contentOf(randomOf(i)) })))
    for (const next of [large(1, 1), large(2, 2), document({ id: 'large', version: 3, deleted: true })]) {
      const steps = indices.map((index) => index.applying([next]))
      for (let done = false; !done; ) {
        done = steps.map((each) => each.next().done === true)[0]!
        for (const field of ['g:code', 'h:code']) {
          const order = [{ field: 'number', descending: true }]
          compareAllPages(
            indices,
            { ...planOf(random), tenant: 'one', types: ['Observation'], where: ALWAYS_TRUE, field, order },
            { next: next.version },
          )
        }
      }
    }
    for (const index of indices) index.close()
  })

  it('are read from the forward entries once, and again if a document changes', () => {
    const folder = mkdtempSync(join(tmpdir(), 'groups-'))
    const index = new SqliteSearchIndex(join(folder, 'index.db'))
    const written = (id: string, group: string, version = 1) =>
      document({ id, version, groups: { 'g:code': [group] }, order: { number: { low: 1, high: 1 } } })
    index.applyNow([written('1', 'a'), written('2', 'a'), written('3', 'b')])
    index.commit()
    const sizes = () => {
      const order = [{ field: 'number', descending: false }]
      const { groups } = index.groupsNow({ ...WHOLE, field: 'g:code', order, hits: 1, limit: 9 })
      return groups.map(({ key, size }) => `${key}${size}`).join(' ')
    }
    expect(sizes()).toBe('a2 b1')
    const other = new DatabaseSync(join(folder, 'index.db'))
    other.exec(`UPDATE document SET held = replace(held, '"a"', '"changed"')`)
    other.close()
    expect(sizes()).toBe('a2 b1')
    index.applyNow([written('2', 'c', 2)])
    expect(sizes()).toBe('a1 c1 b1')
    index.close()
    rmSync(folder, { recursive: true })
  })

  it('are refused above their maximum number, cached or not', () => {
    for (const leading of [undefined, 0]) {
      const index = new SqliteSearchIndex(':memory:', leading === undefined ? {} : { leading })
      const grouped = (from: number, to: number) =>
        index.applyNow([document({ id: `${from}`, groups: { 'g:code': Array.from({ length: to - from }, (_, i) => `${from + i}`) } })])
      const groups = () =>
        index.groupsNow({ ...WHOLE, field: 'g:code', order: [{ field: 'number', descending: false }], hits: 1, limit: 1 })
      grouped(0, 60_000)
      grouped(60_000, MAX_GROUPS)
      expect([groups(), groups()]).toMatchObject([{ more: true }, { more: true }])
      grouped(MAX_GROUPS, MAX_GROUPS + 1)
      expect(groups).toThrow(fault('too-many-groups'))
      expect(groups).toThrow(fault('too-many-groups'))
      index.close()
    }
  })

  it('are complete if there are too many different ones to cache', () => {
    const legend = new GroupLegend()
    const key = (i: number): string => `${i}`.padStart(2_000, '0')
    let cached = 0
    while (!Number.isNaN(legend.numberOf([key(cached)]))) cached++
    expect([legend.keysOf(0), legend.numberOf([key(1)]), legend.numberOf([key(cached)])]).toEqual([[key(0)], 1, Number.NaN])
    const index = new SqliteSearchIndex(':memory:')
    index.applyNow(Array.from({ length: cached + 2 }, (_, i) => document({ id: `${i}`, groups: { 'g:code': [key(i)] } })))
    const groups = (limit: number) =>
      index.groupsNow({ ...WHOLE, field: 'g:code', order: [{ field: 'number', descending: false }], hits: 1, limit }).groups.length
    expect([groups(MAX_GROUPS), groups(MAX_GROUPS)]).toEqual([cached + 2, cached + 2])
    index.close()
  })
})

const WHOLE = { tenant: 'one', types: ['Observation'], where: ALWAYS_TRUE, access: 'everything' } as const

/** Expects the same pages of all indices, from the first page to the last. */
function compareAllPages(indices: readonly SqliteSearchIndex[], plan: GroupPlan, at: object): void {
  for (let after: GroupPlan['after'], page = 0; ; page++) {
    const asked = { ...plan, ...(after === undefined ? {} : { after }) }
    const [first, ...others] = indices.map((index) => index.groupsNow(asked))
    for (const other of others)
      if (!isDeepStrictEqual(other, first)) expect({ at, page, asked, answer: other }).toEqual({ at, page, asked, answer: first })
    const last = first!.groups.at(-1)
    if (!first!.more || last === undefined) return
    after = { position: last.hits[0]!.position, key: last.key }
  }
}
