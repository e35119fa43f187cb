/** A document of very many values is indexed in pieces: between them, searches find its previous or its new state. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from '@jest/globals'
import { sortInPieces } from '../../../lambdas/adapters/sqlite-index/lists/sorted.ts'
import { SqliteSearchIndex } from '../../../lambdas/adapters/sqlite-index/search-index.ts'
import { MAX_PIECE_VALUES, postingChangesOf } from '../../../lambdas/adapters/sqlite-index/writing/exchange.ts'
import { runToEnd } from '../../../lambdas/ports/execution/generator-driver.ts'
import { and, type Predicate } from '../../../lambdas/ports/search/plan.ts'
import type { IndexDocument } from '../../../lambdas/ports/search/search-index.ts'
import { document } from '../../contracts/index-document.ts'
import { newFolder } from '../../fixtures/at-end.ts'

const folder = newFolder()
const MANY = 3 * MAX_PIECE_VALUES

const valued = (letter: string, version: number, more: Partial<IndexDocument> = {}): IndexDocument =>
  document({
    id: 'large',
    version,
    keys: { c: Array.from({ length: MANY }, (_, i) => `${letter}${i}`) },
    numbers: { n: [[version, version]] },
    ...more,
  })
const small = (id: string, version = 1) => document({ id, version, keys: { c: ['small'] } })
const key = (...oneOf: readonly string[]): Predicate => ({ kind: 'key', field: 'c', oneOf })
const number = (low: number): Predicate => ({ kind: 'number', field: 'n', relation: 'intersects', low: low - 0.5, high: low + 0.5 })

/** Returns the total, and the hits shown with their versions. */
function found(index: SqliteSearchIndex, where: Predicate): string {
  const plan = { tenant: 'one', types: ['Observation'], where, access: 'everything', order: [], limit: 10, total: 'accurate' } as const
  const { hits, total } = index.findNow(plan)
  return `${total}: ${hits.map(({ id, version }) => `${id}/${version}`)}`
}

/** Returns the hits for previous values, for new values, for both, and for documents without a certain key. */
const seen = (index: SqliteSearchIndex, before: string, now: string): readonly string[] =>
  [key(`${before}7`), key(`${now}7`), and(key(`${before}7`), key(`${now}7`)), { kind: 'not', of: key('small') } as const, and()].map(
    (where) => found(index, where),
  )

/** Returns each different result seen between pieces. */
function seenWhile(index: SqliteSearchIndex, documents: readonly IndexDocument[], before: string, now: string, isWritten: boolean) {
  const all: (readonly string[])[] = [seen(index, before, now)]
  let pieces = 0
  const look = (): void => {
    const next = seen(index, before, now)
    if (next.join() !== all.at(-1)!.join()) all.push(next)
  }
  for (const _ of index.applying(documents)) {
    pieces++
    look()
    expect(() => index.commit()).toThrow('half')
    if (isWritten) index.prepareCommit()
    look()
  }
  look()
  return { all, pieces }
}

/** The lists without document numbers. */
function rowsOf(index: SqliteSearchIndex, file: string): readonly unknown[] {
  index.commit()
  const db = new DatabaseSync(file, { readOnly: true })
  const rows = (query: string): readonly unknown[] =>
    db
      .prepare(query)
      .all()
      .map((row) => ({ ...row }))
  const told = [
    rows('SELECT fields, value, n FROM posting JOIN combination USING (combination) ORDER BY 1, 2'),
    rows('SELECT field, n, lowest, highest FROM span ORDER BY 1, 2'),
    rows('SELECT id, version, sorting, held FROM document ORDER BY 1'),
    rows('SELECT p.id, deleted, d.id AS own FROM place p JOIN document d USING (doc) ORDER BY 1'),
  ]
  db.close()
  return told
}

it.each([false, true])('A large document is found as before, then as new, without remains (written between: %s)', (isWritten) => {
  const file = join(folder, `large-${isWritten}.db`)
  const index = new SqliteSearchIndex(file)
  const none = ['0: ', '0: ', '0: ', '0: ', '0: ']
  const created = seenWhile(index, [small('a'), valued('x', 1), small('b')], 'x', 'y', isWritten)
  const first = ['1: large/1', '0: ', '0: ', '1: large/1', '2: a/1,large/1']
  const both = [...first.slice(0, 4), '3: a/1,b/1,large/1']
  expect(created.all).toEqual([none, ['0: ', '0: ', '0: ', '0: ', '1: a/1'], both])
  expect(created.pieces).toBeGreaterThan(MANY / MAX_PIECE_VALUES)

  const updated = seenWhile(index, [valued('y', 2)], 'x', 'y', isWritten)
  expect(updated.all).toEqual([both, ['0: ', '1: large/2', '0: ', '1: large/2', '3: a/1,b/1,large/2']])
  expect([found(index, number(1)), found(index, number(2))]).toEqual(['0: ', '1: large/2'])
  const fresh = new SqliteSearchIndex(join(folder, `fresh-${isWritten}.db`))
  fresh.applyNow([small('a'), valued('y', 2), small('b')])
  expect(rowsOf(index, file)).toEqual(rowsOf(fresh, join(folder, `fresh-${isWritten}.db`)))

  const deleted = seenWhile(index, [valued('y', 3, { deleted: true, keys: {}, numbers: {} })], 'x', 'y', isWritten)
  expect(deleted.all.at(-1)).toEqual(['0: ', '0: ', '0: ', '0: ', '2: a/1,b/1'])
  expect(deleted.all).toHaveLength(2)
  fresh.applyNow([valued('y', 3, { deleted: true, keys: {}, numbers: {} })])
  expect(rowsOf(index, file)).toEqual(rowsOf(fresh, join(folder, `fresh-${isWritten}.db`)))
  index.close()
  fresh.close()
})

it('A document half indexed at a close is rolled back, and can be indexed again', () => {
  const file = join(folder, 'closed.db')
  const index = new SqliteSearchIndex(file)
  index.applyNow([small('a'), valued('x', 1)])
  index.commit()
  const pieces = index.applying([valued('y', 2)])
  for (let i = 0; i < 8; i++) expect(pieces.next().done).toBe(false)
  index.prepareCommit()
  index.close()
  const again = new SqliteSearchIndex(file)
  expect(seen(again, 'x', 'y')).toEqual(['1: large/1', '0: ', '0: ', '1: large/1', '2: a/1,large/1'])
  again.applyNow([valued('y', 2)])
  expect(seen(again, 'x', 'y')).toEqual(['0: ', '1: large/2', '0: ', '1: large/2', '2: a/1,large/2'])
  again.close()
})

it('An error in the middle rolls the document back, and later documents are found', () => {
  const index = new SqliteSearchIndex(':memory:')
  index.applyNow([valued('x', 1)])
  index.commit()
  expect(() => index.applyNow([valued('y', 2, { points: { p: undefined as unknown as [] } })])).toThrow()
  expect(seen(index, 'x', 'y')[0]).toBe('1: large/1')
  index.applyNow([small('a'), small('b'), small('c')])
  expect(found(index, key('small'))).toBe('3: a/1,b/1,c/1')
  index.close()
})

it('A small change of a large document compares and writes little', () => {
  const rows = (...values: readonly number[]) => values.flatMap((value) => [1, `v${value}`])
  const many = Array.from({ length: MANY }, (_, i) => i)
  const compared = postingChangesOf(rows(...many, 1e6), rows(...many.slice(0, 5), -1, ...many.slice(5), 1e6))
  expect(compared.next()).toEqual({ done: true, value: { added: rows(-1), removed: [] } })
  const moved = postingChangesOf(rows(-1, ...many, 1e6), rows(-2, ...many.slice(1), -3))
  let pieces = 0
  let piece = moved.next()
  for (; piece.done !== true; piece = moved.next()) pieces++
  expect(piece.value).toEqual({ added: rows(-2, -3), removed: rows(-1, 0, 1e6) })
  expect(pieces).toBeGreaterThan(4)
  expect(runToEnd(postingChangesOf(rows(1, 1), rows(1)))).toEqual({ added: [], removed: rows(1) })
})

it('Texts sorted in pieces have the order of a full sort', () => {
  for (const count of [0, 1, 5_000, 5_001, 23_456]) {
    const texts = Array.from({ length: count }, (_, i) => `${(i * 7_919) % count}`)
    expect(runToEnd(sortInPieces(texts))).toEqual(texts.toSorted())
  }
  expect([...sortInPieces(Array.from({ length: 20_000 }, (_, i) => `${i}`))].length).toBeGreaterThan(8)
})
