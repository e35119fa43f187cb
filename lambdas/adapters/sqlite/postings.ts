/**
 * The documents of each term: of a value in a combination of fields. On disk they stand in chunks, in memory those that came since the last
 * commit, so that a term that is met often is written once for all of them. A document is in one of the two, and in one chunk.
 */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { type Budget, TICK } from './budget.ts'
import { bitsOf, type Docs, docsOf, isIn, NO_DOCS } from './docs.ts'
import { packed, unpack } from './packing.ts'
import type { Sql } from './sql.ts'
import { Statements } from './statements.ts'

/** Terms that are asked for. */
export type Terms = {
  readonly combinations: readonly number[]
  /** On the column `value`. */
  readonly condition: Sql
  /** The values, or what they must be like. */
  readonly values: readonly string[] | ((value: string) => boolean)
}

/** Documents of a chunk: a search for few documents reads no more of a term. */
const CHUNK = 1_000
/** Terms that are written in a few milliseconds. */
const STEP = 1_000
/** Chunks that are looked at to tell the number of documents. */
const MOST_ESTIMATED = 1_000

/** Without `docs`: `first` alone. */
type Chunk = [first: number, last: number, n: number, docs: Uint8Array | null]
type TermChunk = [...Chunk, value: string]

export class Postings {
  readonly #statements: Statements
  readonly #budget: Budget
  readonly #put
  readonly #drop
  readonly #last
  readonly #holding
  /** By combination and value; mostly a value has one document. */
  readonly #pending = new Map<number, Map<string, number | number[]>>()
  #size = 0

  constructor(db: DatabaseSync, budget: Budget) {
    this.#statements = new Statements(db)
    this.#budget = budget
    const ofTerm = 'SELECT first, last, n, docs FROM posting WHERE combination = ? AND value = ?'
    this.#put = db.prepare('INSERT OR REPLACE INTO posting VALUES (?, ?, ?, ?, ?, ?)')
    this.#drop = db.prepare('DELETE FROM posting WHERE combination = ? AND value = ? AND first = ?')
    this.#last = this.#statements.lists(`${ofTerm} ORDER BY first DESC LIMIT 1`)
    this.#holding = this.#statements.lists(`${ofTerm} AND first <= ? ORDER BY first DESC LIMIT 1`)
  }

  /** Documents of terms that are not written yet. */
  get size(): number {
    return this.#size
  }

  add(combination: number, value: string, doc: number): void {
    let terms = this.#pending.get(combination)
    if (terms === undefined) {
      terms = new Map()
      this.#pending.set(combination, terms)
    }
    const docs = terms.get(value)
    if (docs === undefined) terms.set(value, doc)
    else if (typeof docs === 'number') terms.set(value, [docs, doc])
    else docs.push(doc)
    this.#size++
  }

  remove(combination: number, value: string, doc: number): void {
    const terms = this.#pending.get(combination)
    const docs = listed(terms?.get(value))
    const at = docs.lastIndexOf(doc)
    if (at < 0) return this.#removeWritten(combination, value, doc)
    if (docs.length === 1) terms!.delete(value)
    else docs.splice(at, 1)
    this.#size--
  }

  /** Forgets what is not written. */
  clear(): void {
    this.#pending.clear()
    this.#size = 0
  }

  /** Writes what is in memory, neighbours one after the other, so many terms between two steps. */
  *writing(): Generator<undefined, undefined> {
    let terms = 0
    for (const combination of [...this.#pending.keys()].sort((a, b) => a - b)) {
      const values = this.#pending.get(combination)!
      for (const value of [...values.keys()].sort()) {
        const docs = listed(values.get(value))
        if (docs.length === 0) continue
        this.#write(combination, value, docs)
        values.delete(value)
        this.#size -= docs.length
        if (++terms % STEP === 0) yield
      }
      if (values.size === 0) this.#pending.delete(combination)
    }
  }

  /** The documents from one number to another that are in one of the terms. */
  read(terms: Terms, from: number, to: number): Docs {
    const chunks = this.#chunks(terms, from, to)
    const lists = this.#pendingOf(terms)
    let size = 0
    for (const [, , n] of chunks) size += n
    for (const list of lists) size += list.length
    if (size === 0) return NO_DOCS
    const docs = new Uint32Array(size)
    let at = 0
    for (const chunk of chunks) at = unpackChunk(chunk, docs, at)
    for (const list of lists) {
      docs.set(list, at)
      at += list.length
    }
    return docsOf(docs)
  }

  /** At most so many documents are in the terms; infinitely many when that takes too long to find out. */
  estimate(terms: Terms): number {
    const { text, values } = whereOf(terms)
    const [n, rows] = this.#statements
      .lists(`SELECT total(n), count(*) FROM (SELECT n FROM posting WHERE ${text} LIMIT ${MOST_ESTIMATED})`)
      .get(...values) as unknown as [number, number]
    return rows === MOST_ESTIMATED ? Number.POSITIVE_INFINITY : this.#pendingOf(terms).reduce((sum, { length }) => sum + length, n)
  }

  /** Each value of the combinations that some of the documents have, perhaps several times. */
  *valuesAmong(combinations: readonly number[], docs: Docs): Generator<string> {
    const bits = bitsOf(docs)
    const members = new Uint32Array(CHUNK)
    for (const chunk of this.#chunks({ combinations, condition: EVERY, values: [] }, docs[0]!, docs.at(-1)!)) {
      const n = unpackChunk(chunk, members, 0)
      for (let i = 0; i < n; i++)
        if (isIn(bits, members[i]!)) {
          yield chunk[4]
          break
        }
    }
    for (const combination of combinations)
      for (const [value, pending] of this.#pending.get(combination) ?? []) if (listed(pending).some((doc) => isIn(bits, doc))) yield value
  }

  /** Whether the combinations have no more than so many chunks. */
  isSmall(combinations: readonly number[], most: number): boolean {
    const { text, values } = whereOf({ combinations, condition: EVERY, values: [] })
    const [n] = this.#statements
      .lists(`SELECT count(*) FROM (SELECT 1 FROM posting WHERE ${text} LIMIT ?)`)
      .get(...values, most) as unknown as [number]
    return n < most
  }

  #chunks(terms: Terms, from: number, to: number): readonly TermChunk[] {
    const { text, values } = whereOf(terms)
    const statement = this.#statements.lists(
      `SELECT first, last, n, docs, value FROM posting WHERE ${text} AND first <= ? AND last >= ? AND ${TICK.text}`,
    )
    return statement.all(...values, to, from) as unknown as readonly TermChunk[]
  }

  #pendingOf({ combinations, values }: Terms): readonly (readonly number[])[] {
    const found: (readonly number[])[] = []
    for (const combination of combinations) {
      const terms = this.#pending.get(combination)
      if (terms === undefined) continue
      if (typeof values === 'function') {
        for (const [value, docs] of terms) {
          this.#budget.tick()
          if (values(value)) found.push(listed(docs))
        }
      } else
        for (const value of values) {
          const docs = terms.get(value)
          if (docs !== undefined) found.push(listed(docs))
        }
    }
    return found
  }

  #write(combination: number, value: string, added: number[]): void {
    const last = this.#last.get(combination, value) as unknown as Chunk | undefined
    if (added.length === 1 && last === undefined) return this.#putChunk(combination, value, added, 0, 1)
    const docs = isAscending(added) ? added : added.sort((a, b) => a - b)
    if (last === undefined || (docs[0]! > last[1] && last[2] >= CHUNK)) return this.#putAll(combination, value, docs)
    if (docs[0]! > last[1]) return this.#append(combination, value, last, docs)
    this.#insert(combination, value, docs)
  }

  /** As many as there is room for go to the last chunk. */
  #append(combination: number, value: string, [first, last, n, before]: Chunk, docs: readonly number[]): void {
    const fitting = Math.min(docs.length, CHUNK - n)
    const more = packed(docs, 0, fitting, last)
    this.#put.run(combination, value, first, docs[fitting - 1]!, n + fitting, before === null ? more : Buffer.concat([before, more]))
    if (fitting < docs.length) this.#putAll(combination, value, docs, fitting)
  }

  /** Each goes to the chunk it lies in, or to the one before it. */
  #insert(combination: number, value: string, docs: readonly number[]): void {
    for (let end = docs.length; end > 0; ) {
      const chunk = this.#holding.get(combination, value, docs[end - 1]!) as unknown as Chunk | undefined
      if (chunk === undefined) return this.#putAll(combination, value, docs.slice(0, end))
      let start = end - 1
      while (start > 0 && docs[start - 1]! >= chunk[0]) start--
      const both = new Uint32Array(chunk[2] + end - start)
      both.set(docs.slice(start, end), unpackChunk(chunk, both, 0))
      this.#putAll(combination, value, both.sort())
      end = start
    }
  }

  #removeWritten(combination: number, value: string, doc: number): void {
    const chunk = this.#holding.get(combination, value, doc) as unknown as Chunk | undefined
    if (chunk === undefined) return
    const docs = new Uint32Array(chunk[2])
    unpackChunk(chunk, docs, 0)
    if (doc === chunk[0]) this.#drop.run(combination, value, doc)
    this.#putAll(
      combination,
      value,
      docs.filter((each) => each !== doc),
    )
  }

  #putAll(combination: number, value: string, docs: ArrayLike<number>, from = 0): void {
    for (let start = from; start < docs.length; start += CHUNK)
      this.#putChunk(combination, value, docs, start, Math.min(start + CHUNK, docs.length))
  }

  #putChunk(combination: number, value: string, docs: ArrayLike<number>, start: number, end: number): void {
    const first = docs[start]!
    const others: SQLInputValue = end - start === 1 ? null : packed(docs, start + 1, end, first)
    this.#put.run(combination, value, first, docs[end - 1]!, end - start, others)
  }
}

const listed = (docs: number | number[] | undefined): number[] => (typeof docs === 'number' ? [docs] : (docs ?? []))

const EVERY: Sql = { text: '1', values: [] }

const whereOf = ({ combinations, condition: { text, values } }: Terms): Sql => ({
  text: `combination IN (${combinations.join(', ')}) AND ${text}`,
  values,
})

function unpackChunk([first, , , others]: Chunk | TermChunk, into: Uint32Array, at: number): number {
  into[at] = first
  return others === null ? at + 1 : unpack(others, first, into, at + 1)
}

function isAscending(docs: readonly number[]): boolean {
  for (let i = 1; i < docs.length; i++) if (docs[i - 1]! >= docs[i]!) return false
  return true
}
