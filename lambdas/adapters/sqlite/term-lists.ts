/** The lists of documents of terms on disk, in chunks. What was read lately of terms that are asked for by their value is kept decoded. */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { type Block, type BlockList, BlockLists, blocksAmong } from './block-lists.ts'
import { type Budget, TICK } from './budget.ts'
import { compact, type DocSet, type Docs, denseOf, firstOf, intersection, isIn, isList, lastOf } from './docs.ts'
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

/** Documents of a chunk. */
export const CHUNK = 1_000
/** Chunks that are looked at to tell the number of documents. */
const MOST_ESTIMATED = 1_000
/** Terms of one search that are looked up, and kept, one by one. */
const MOST_SINGLE = 32
/** Bytes of what is kept decoded. */
const MOST_KEPT = 8_000_000

/** Without `docs`: `first` alone. */
export type Chunk = [first: number, last: number, n: number, docs: Uint8Array | null]
type TermChunk = [...Chunk, value: string]
type ChunkDocs = Block<DocSet>
type Found = { readonly combination: number; readonly value: string; readonly list: BlockList<ChunkDocs> }

export class TermLists {
  readonly #statements: Statements
  readonly #budget: Budget
  readonly #lists = new BlockLists<string, ChunkDocs>(MOST_KEPT, bytesOf)
  readonly #put
  readonly #drop
  readonly #last
  readonly #holding
  readonly #list
  readonly #chunk

  constructor(db: DatabaseSync, budget: Budget) {
    this.#statements = new Statements(db)
    this.#budget = budget
    const ofTerm = 'FROM posting WHERE combination = ? AND value = ?'
    this.#put = db.prepare('INSERT OR REPLACE INTO posting VALUES (?, ?, ?, ?, ?, ?)')
    this.#drop = db.prepare('DELETE FROM posting WHERE combination = ? AND value = ? AND first = ?')
    this.#last = this.#statements.lists(`SELECT first, last, n, docs ${ofTerm} ORDER BY first DESC LIMIT 1`)
    this.#holding = this.#statements.lists(`SELECT first, last, n, docs ${ofTerm} AND first <= ? ORDER BY first DESC LIMIT 1`)
    // Of short lists the documents come along.
    this.#list = this.#statements.lists(`SELECT first, last, n, iif(n < ${CHUNK}, docs, NULL) ${ofTerm} ORDER BY first`)
    this.#chunk = this.#statements.lists(`SELECT first, last, n, docs ${ofTerm} AND first = ?`)
  }

  /** Sets of documents in terms, which together hold at least those of the given ones; undefined: all. */
  among(terms: Terms, docs: DocSet | undefined): readonly DocSet[] {
    const found = this.#listsOf(terms)
    const sets = found === undefined ? this.#chunks(terms, docs).map(docsOfChunk) : found.flatMap((each) => this.#entriesOf(each, docs))
    return docs !== undefined && isList(docs) ? sets.map((set) => intersection(docs, set)) : sets
  }

  /** At most so many documents are in the terms; infinitely many when that takes too long to find out. */
  estimate(terms: Terms): number {
    const found = this.#listsOf(terms)
    if (found !== undefined) return found.reduce((sum, { list }) => sum + list.n, 0)
    const { text, values } = whereOf(terms)
    const [n, rows] = this.#statements
      .lists(`SELECT total(n), count(*) FROM (SELECT n FROM posting WHERE ${text} LIMIT ${MOST_ESTIMATED})`)
      .get(...values) as unknown as [number, number]
    return rows === MOST_ESTIMATED ? Number.POSITIVE_INFINITY : n
  }

  /** Each value of the combinations that some of the documents have, perhaps several times. */
  *valuesAmong(combinations: readonly number[], docs: DocSet): Generator<string> {
    const bits = denseOf(docs)
    for (const chunk of this.#chunks({ combinations, ...EVERY }, docs))
      if (docsOfChunk(chunk).some((doc) => isIn(bits, doc))) yield chunk[4]
  }

  /** Whether the combinations have no more than so many chunks. */
  isSmall(combinations: readonly number[], most: number): boolean {
    const { text, values } = whereOf({ combinations, ...EVERY })
    const [n] = this.#statements
      .lists(`SELECT count(*) FROM (SELECT 1 FROM posting WHERE ${text} LIMIT ?)`)
      .get(...values, most) as unknown as [number]
    return n < most
  }

  last(combination: number, value: string): Chunk | undefined {
    return this.#last.get(combination, value) as unknown as Chunk | undefined
  }

  /** The chunk that the document lies in, or the one before it. */
  holding(combination: number, value: string, doc: number): Chunk | undefined {
    return this.#holding.get(combination, value, doc) as unknown as Chunk | undefined
  }

  put(combination: number, value: string, [first, last, n, docs]: Chunk): void {
    this.#put.run(combination, value, first, last, n, docs satisfies SQLInputValue)
    if (!this.#lists.isEmpty) this.#lists.put(keyOf(combination, value), { first, last, n, entries: undefined })
  }

  drop(combination: number, value: string, first: number): void {
    this.#drop.run(combination, value, first)
    if (!this.#lists.isEmpty) this.#lists.drop(keyOf(combination, value), first)
  }

  /** Forgets what it knows by heart. */
  clear(): void {
    this.#lists.clear()
  }

  /** Undefined where there are too many terms to look them up one by one. */
  #listsOf({ combinations, values }: Terms): readonly Found[] | undefined {
    if (typeof values === 'function' || combinations.length * values.length > MOST_SINGLE) return undefined
    return combinations.flatMap((combination) => values.map((value) => ({ combination, value, list: this.#listOf(combination, value) })))
  }

  #listOf(combination: number, value: string): BlockList<ChunkDocs> {
    const key = keyOf(combination, value)
    const known = this.#lists.get(key)
    if (known !== undefined) return known
    const chunks = this.#list.all(combination, value) as unknown as readonly Chunk[]
    return this.#lists.add(
      key,
      chunks.map((chunk) => {
        const [first, last, n, docs] = chunk
        return { first, last, n, entries: n === 1 || docs !== null ? compact(docsOfChunk(chunk)) : undefined }
      }),
    )
  }

  #entriesOf({ combination, value, list }: Found, docs: DocSet | undefined): readonly DocSet[] {
    return blocksAmong(list, docs).map((block) => {
      this.#budget.tick()
      if (block.entries !== undefined) return block.entries
      const entries = compact(docsOfChunk(this.#chunk.get(combination, value, block.first) as unknown as Chunk))
      this.#lists.keep(keyOf(combination, value), list, block, entries)
      return entries
    })
  }

  #chunks(terms: Terms, docs: DocSet | undefined): readonly TermChunk[] {
    const { text, values } = whereOf(terms)
    const statement = this.#statements.lists(
      `SELECT first, last, n, docs, value FROM posting WHERE ${text} AND first <= ? AND last >= ? AND ${TICK.text}`,
    )
    const [from, to] = docs === undefined ? [0, LAST] : [firstOf(docs), lastOf(docs)]
    return statement.all(...values, to, from) as unknown as readonly TermChunk[]
  }
}

/** Above every document. */
const LAST = 2 ** 32 - 1

const EVERY = { condition: { text: '1', values: [] }, values: [] } as const

const keyOf = (combination: number, value: string): string => `${combination} ${value}`

const whereOf = ({ combinations, condition: { text, values } }: Omit<Terms, 'values'>): Sql => ({
  text: `combination IN (${combinations.join(', ')}) AND ${text}`,
  values,
})

export function packedChunk(docs: ArrayLike<number>, start: number, end: number): Chunk {
  const first = docs[start]!
  return [first, docs[end - 1]!, end - start, end - start === 1 ? null : packed(docs, start + 1, end, first)]
}

/** With the objects of a chunk. */
const bytesOf = (entries: DocSet | undefined): number =>
  entries === undefined ? 0 : 200 + 4 * (isList(entries) ? entries.length : entries.words.length)

export function docsOfChunk(chunk: Chunk | TermChunk): Docs {
  const docs = new Uint32Array(chunk[2])
  unpackChunk(chunk, docs)
  return docs
}

function unpackChunk([first, , , others]: Chunk | TermChunk, into: Uint32Array): void {
  into[0] = first
  if (others !== null) unpack(others, first, into, 1)
}
