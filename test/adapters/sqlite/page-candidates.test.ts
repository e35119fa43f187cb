/** Cached sort values: every document of a page stays, few others do, and each value is read once. */
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from '@jest/globals'
import { listOf } from '../../../lambdas/adapters/sqlite-index/lists/document-sets.ts'
import { CachedColumns } from '../../../lambdas/adapters/sqlite-index/reading/cached-columns.ts'
import { type CandidateOrder, PageCandidates } from '../../../lambdas/adapters/sqlite-index/reading/page-candidates.ts'
import { SqliteSearchIndex } from '../../../lambdas/adapters/sqlite-index/search-index.ts'
import { Statements } from '../../../lambdas/adapters/sqlite-index/statements.ts'
import { ALWAYS_TRUE, type HitPosition, type Plan } from '../../../lambdas/ports/search/plan.ts'
import type { IndexDocument } from '../../../lambdas/ports/search/search-index.ts'
import { type Random, randomOf } from '../../contracts/generated-search.ts'
import { document } from '../../contracts/index-document.ts'

type Value = string | number | null

/** Documents numbered from 1 with these values in the column `d.value`. `read`: number of rows read since its last call. */
function table(values: readonly Value[], room?: number) {
  const db = new DatabaseSync(':memory:')
  let rows = 0
  db.function('within_budget', () => {
    rows++
    return 1
  })
  db.exec('CREATE TABLE document (doc INTEGER PRIMARY KEY, value, other)')
  const insert = db.prepare('INSERT INTO document VALUES (?, ?, ?)')
  for (const [i, value] of values.entries()) insert.run(i + 1, value, i)
  const read = () => {
    const before = rows
    rows = 0
    return before
  }
  const columns = new CachedColumns(new Statements(db), room)
  return { db, read, columns, leading: new PageCandidates(columns) }
}

const docs = (from: number, to: number) => Uint32Array.from({ length: to - from + 1 }, (_, i) => from + i)
const BY: CandidateOrder = { column: 'd.value', descending: false }

describe('Sort values', () => {
  it('are read once, also of later documents, and again if the document has changed', () => {
    const { columns, leading, read } = table(Array.from({ length: 1_000 }, (_, i) => (i * 7_919) % 1_000))
    const few = (to: number) => leading.of(docs(1, to), BY, 3).length
    expect([few(100), read()]).toEqual([3, 100])
    expect([few(100), read()]).toEqual([3, 0])
    expect([few(1_000), read()]).toEqual([3, 900])
    expect([leading.of(docs(1, 1_000), { ...BY, descending: true }, 5).length, read()]).toEqual([5, 0])
    columns.forget(17)
    expect([few(1_000), read()]).toEqual([3, 1])
    columns.clear()
    expect([few(10), read()]).toEqual([3, 10])
  })

  it('are cached for as many columns as fit; the last used column stays', () => {
    const { leading, read } = table(
      Array.from({ length: 100 }, (_, i) => i),
      1_500,
    )
    const other = { ...BY, column: 'd.other' }
    leading.of(docs(1, 100), BY, 3)
    leading.of(docs(1, 100), other, 3)
    expect(read()).toBe(200)
    leading.of(docs(1, 100), other, 3)
    expect(read()).toBe(0)
    leading.of(docs(1, 100), BY, 3)
    expect(read()).toBe(100)
  })

  it('are not read if they do not fit, or the page holds all documents', () => {
    const values = Array.from({ length: 100 }, (_, i) => i)
    const { leading, read } = table(values, 500)
    expect([leading.of(docs(1, 100), BY, 3).length, read()]).toEqual([100, 0])
    const { leading: roomy, read: readOfIt } = table(values)
    expect([roomy.of(docs(1, 100), BY, 100).length, readOfIt()]).toEqual([100, 0])
  })

  it('keep every document that a page may have, in either direction, after any position', () => {
    for (let seed = 1; seed <= 4; seed++) {
      const random = randomOf(seed)
      const values = Array.from({ length: 200 }, () => anyValue(random))
      const { db, leading } = table(values)
      for (let trial = 0; trial < 50; trial++) {
        const some = docs(1, values.length).filter(() => random.below(4) > 0)
        const descending = random.below(2) === 0
        const after = random.below(3) === 0 ? {} : { after: random.pick(values) }
        const wanted = 1 + random.below(20)
        const left = new Set(listOf(leading.of(some, { ...BY, descending, ...after }, wanted)))
        expect(pageOf(db, some, descending, after.after, wanted).filter((doc) => !left.has(doc))).toEqual([])
      }
      db.close()
    }
  })
})

/** Values that share a prefix, are very large numbers, or end within a character if cut after few bytes. */
function anyValue({ below, pick }: Random): Value {
  switch (below(4)) {
    case 0:
      return null
    case 1:
      return pick([0, -1, 1.5, 2 ** 53, Number.MAX_VALUE, -Number.MAX_VALUE, 2 ** 1023, 2 ** 1023 * 1.5, below(100)])
    case 2:
      return pick(['', 'a', 'abcde', 'abcde\u{10000}', 'abcde\u{ffff}', 'abcde\u{e000}', 'abcdef', 'ab\u{1f600}cd', '\u{10ffff}'])
    default:
      return `${pick(['', 'common-prefix-', 'é', '日本'])}${below(40)}`
  }
}

/** The page in the order of SQLite: documents equal to the position, and the first `wanted` after it, with all ties of the last one. */
function pageOf(db: DatabaseSync, some: Uint32Array, descending: boolean, after: Value | undefined, wanted: number): readonly number[] {
  const order = `value ${descending ? 'DESC' : 'ASC'} NULLS LAST`
  const rows = db
    .prepare(`SELECT doc, dense_rank() OVER (ORDER BY ${order}) AS rank, value IS ? AS same FROM document ORDER BY rank`)
    .all(after ?? null) as unknown as { readonly doc: number; readonly rank: number; readonly same: number }[]
  const at = after === undefined ? 0 : rows.find(({ same }) => same === 1)!.rank
  const chosen = rows.filter(({ doc, rank }) => some.includes(doc) && rank >= at)
  const last = chosen.filter(({ rank }) => rank > at)[wanted - 1]?.rank ?? Number.POSITIVE_INFINITY
  return chosen.filter(({ rank }) => rank <= last).map(({ doc }) => doc)
}

const PLAN = { tenant: 'one', types: ['Observation'], where: ALWAYS_TRUE, access: 'everything', total: 'none' } as const

/** A document with one number as its date and another text as its name. */
const dated = (id: string, date: number | undefined, version = 1): IndexDocument =>
  document({
    ...{ id, version },
    ...(date === undefined ? {} : { order: { date: { low: date, high: date + 1 }, name: { low: `n${date}`, high: `n${date}` } } }),
    present: date === undefined ? [] : ['date', 'name'],
  })

const idsOf = (index: SqliteSearchIndex, plan: Pick<Plan, 'order' | 'limit' | 'after'>) => index.findNow({ ...PLAN, ...plan }).hits

describe('A page of an index', () => {
  it('starts with documents updated to be first, and ignores writes that were rolled back', () => {
    const index = new SqliteSearchIndex(':memory:')
    const first = () => idsOf(index, { order: [{ field: 'date', descending: false }], limit: 1 }).map(({ id }) => id)
    const firstId = () => idsOf(index, { order: [], limit: 1 }).map(({ id }) => id)
    index.applyNow([dated('b', 10), dated('c', 20), dated('d', 30)])
    index.commit()
    expect([first(), firstId()]).toEqual([['b'], ['b']])
    index.applyNow([dated('d', 5, 2)])
    expect(first()).toEqual(['d'])
    index.commit()
    index.applyNow([dated('a1', 1), dated('a2', 2), dated('a3', 3)])
    expect([first(), firstId()]).toEqual([['a1'], ['a1']])
    expect(() => index.applyNow([dated('e', 2), { ...dated('f', 3), version: {} as number }])).toThrow()
    expect([first(), firstId()]).toEqual([['d'], ['b']])
    index.applyNow([dated('x', 40), dated('y', 50), dated('z', 60)])
    expect([first(), firstId()]).toEqual([['d'], ['b']])
    index.close()
  })

  it('is the same with and without cached sort values, after any writes', () => {
    for (let seed = 1; seed <= 3; seed++) {
      const random = randomOf(seed)
      const [known, unknown] = [new SqliteSearchIndex(':memory:'), new SqliteSearchIndex(':memory:', { leading: 0 })]
      const versions = new Map<string, number>()
      const write = (): IndexDocument => {
        const id = `${random.pick(['', 'long-beginning-'])}${random.below(60)}`
        const version = (versions.get(id) ?? 0) + 1
        versions.set(id, version)
        if (random.below(6) === 0) return document({ id, version, deleted: true })
        return dated(id, random.below(5) === 0 ? undefined : random.below(30), version)
      }
      for (let round = 0; round < 40; round++) {
        const documents = Array.from({ length: 1 + random.below(5) }, write)
        for (const index of [known, unknown]) index.applyNow(documents)
        const order = random.pick([[], ['date'], ['name'], ['name', 'date']]).map((field) => ({ field, descending: random.below(2) === 0 }))
        let after: HitPosition | undefined
        for (let page = 0; page < 3; page++) {
          const plan = { order, limit: 1 + random.below(7), ...(after === undefined ? {} : { after }) }
          const hits = idsOf(known, plan)
          expect(hits).toEqual(idsOf(unknown, plan))
          after = hits.at(-1)?.position ?? after
        }
      }
      for (const index of [known, unknown]) index.close()
    }
  })
})
