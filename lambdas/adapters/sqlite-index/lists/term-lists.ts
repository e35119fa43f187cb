/**
 * Document lists of terms on disk, in blocks. Lists of terms that searches request by their exact values stay in memory while they are
 * used.
 */
import type { DatabaseSync } from 'node:sqlite'
import { BUDGET_CONDITION, type SearchBudget } from '../reading/budget.ts'
import type { Sql } from '../reading/sql.ts'
import { Statements } from '../statements.ts'
import { type Block, type BlockList, BlockLists, blocksAmong, isLargePart } from './block-lists.ts'
import { compact, DOC_NUMBER_END, type DocSet, firstOf, intersection, lastOf, union } from './document-sets.ts'
import { BLOCK_SIZE, bytesOf, docsOfBlock, docsOfBlocks, type PackedBlock } from './packed-blocks.ts'

/** Terms to read: all pairs of a combination and a matching value. */
export type TermQuery = {
  readonly combinations: readonly number[]
  /** SQL condition on the column `value`. It must select the same values as `values`. */
  readonly condition: Sql
  /** Exact values, or a function that tests a value. */
  readonly values: readonly string[] | ((value: string) => boolean)
}

/** Number of blocks from which an estimate is Infinity, because counting more of them takes too long. */
const MOST_ESTIMATED = 1_000
/** Maximum terms, by exact value, that one condition reads through the cache. For more terms, one statement reads the blocks. */
const MOST_SINGLE = 500
/** Approximate maximum bytes of all cached lists. Above it, lists that were not used recently are dropped. */
const MOST_KEPT = 7_000_000
/** New terms, each with one document, that one statement inserts. */
const TOGETHER = 16
/**
 * If the sets together have at least this many times the documents of `docs`, each is intersected with `docs`, so that their union takes
 * less time.
 */
const MUCH_LARGER = 8

type TermRow = [...PackedBlock, combination: number, value: string]
type DocsBlock = Block<DocSet>
type Term = { readonly combination: number; readonly value: string; readonly key: string }
type TermList = Term & { readonly list: BlockList<DocsBlock> }

export class TermLists {
  readonly #statements: Statements
  readonly #budget: SearchBudget
  readonly #lists = new BlockLists<string, DocsBlock>(MOST_KEPT, bytesOf)
  readonly #put
  readonly #begin
  #begun: (number | string)[] = []
  readonly #drop
  readonly #last
  readonly #holding
  readonly #block
  readonly #all

  constructor(db: DatabaseSync, budget: SearchBudget) {
    this.#statements = new Statements(db)
    this.#budget = budget
    const ofTerm = 'SELECT first, last, n, docs FROM posting WHERE combination = ? AND value = ?'
    const inLists = 'combination IN (SELECT value FROM json_each(?)) AND value IN (SELECT value FROM json_each(?))'
    this.#put = db.prepare('INSERT OR REPLACE INTO posting VALUES (?, ?, ?, ?, ?, ?)')
    // IGNORE: SQLite copies every page that a statement changes if one of several rows may abort it. New terms never do.
    this.#begin = db.prepare(`INSERT OR IGNORE INTO posting VALUES ${Array(TOGETHER).fill('(?, ?, ?, ?, 1, NULL)').join(', ')}`)
    this.#drop = db.prepare('DELETE FROM posting WHERE combination = ? AND value = ? AND first = ?')
    this.#last = this.#statements.lists(`${ofTerm} ORDER BY first DESC LIMIT 1`)
    this.#holding = this.#statements.lists(`${ofTerm} AND first <= ? ORDER BY first DESC LIMIT 1`)
    this.#block = this.#statements.lists(`${ofTerm} AND first = ?`)
    // Full blocks come without their documents, which are read on first use.
    this.#all = this.#statements.lists(
      `SELECT first, last, n, iif(n < ${BLOCK_SIZE}, docs, NULL), combination, value FROM posting WHERE ${inLists} ORDER BY first`,
    )
  }

  /** Returns sets whose union has all documents of `docs` with one of the terms, and possibly others. `docs` undefined: all documents. */
  among(terms: TermQuery, docs: DocSet | undefined): readonly DocSet[] {
    const lists = this.#listsOf(terms)
    const sets = lists === undefined ? [docsOfBlocks(this.#blocks(terms, docs))] : lists.flatMap((each) => this.#docsOf(each, docs))
    if (docs === undefined || sets.reduce((sum, { length }) => sum + length, 0) < docs.length * MUCH_LARGER) return sets
    return sets.map((set) => intersection(docs, set))
  }

  /**
   * Returns an upper bound for the number of documents with one of the terms. Returns Infinity for uncached terms with MOST_ESTIMATED or
   * more blocks.
   */
  estimate(terms: TermQuery): number {
    const lists = this.#listsOf(terms)
    if (lists !== undefined) return lists.reduce((sum, { list }) => sum + list.n, 0)
    const { text, values } = whereOf(terms)
    const [n, rows] = this.#statements
      .lists(`SELECT total(n), count(*) FROM (SELECT n FROM posting WHERE ${text} LIMIT ${MOST_ESTIMATED})`)
      .get(...values) as unknown as [number, number]
    return rows === MOST_ESTIMATED ? Number.POSITIVE_INFINITY : n
  }

  /**
   * Adds a document to a term that has none on disk. Rows of several new terms are inserted together, at the latest by `flush`. Until then,
   * reads and removals do not find them.
   */
  begin(combination: number, value: string, doc: number): void {
    this.#begun.push(combination, value, doc, doc)
    if (!this.#lists.isEmpty) this.#lists.put(keyOf(combination, value), { first: doc, last: doc, n: 1, entries: undefined })
    if (this.#begun.length < TOGETHER * 4) return
    this.#begin.run(...this.#begun)
    this.#begun = []
  }

  flush(): void {
    for (let i = 0; i < this.#begun.length; i += 4) {
      const [combination, value, first, last] = this.#begun.slice(i, i + 4)
      this.#put.run(combination!, value!, first!, last!, 1, null)
    }
    this.#begun = []
  }

  last(combination: number, value: string): PackedBlock | undefined {
    return this.#last.get(combination, value) as unknown as PackedBlock | undefined
  }

  /** Returns the last block of the term whose first document number is at most `doc`. The document is in it or belongs into it. */
  holding(combination: number, value: string, doc: number): PackedBlock | undefined {
    return this.#holding.get(combination, value, doc) as unknown as PackedBlock | undefined
  }

  put(combination: number, value: string, [first, last, n, docs]: PackedBlock): void {
    this.#put.run(combination, value, first, last, n, docs)
    if (!this.#lists.isEmpty) this.#lists.put(keyOf(combination, value), { first, last, n, entries: undefined })
  }

  drop(combination: number, value: string, first: number): void {
    this.#drop.run(combination, value, first)
    if (!this.#lists.isEmpty) this.#lists.drop(keyOf(combination, value), first)
  }

  /** Clears the cache and discards unwritten terms. */
  clear(): void {
    this.#begun = []
    this.#lists.clear()
  }

  /**
   * Returns the list of each term through the cache. Returns undefined if the values are given by a test, or for more than MOST_SINGLE
   * terms.
   */
  #listsOf({ combinations, values }: TermQuery): readonly TermList[] | undefined {
    if (typeof values === 'function' || combinations.length * values.length > MOST_SINGLE) return undefined
    const terms = combinations.flatMap((combination) => values.map((value) => ({ combination, value, key: keyOf(combination, value) })))
    const known = new Map(terms.map(({ key }) => [key, this.#lists.get(key)]))
    const missing = terms.filter(({ key }) => known.get(key) === undefined)
    if (missing.length > 0) for (const { key, list } of this.#read(missing)) known.set(key, list)
    return terms.map((term) => ({ ...term, list: known.get(term.key)! }))
  }

  #read(terms: readonly Term[]): readonly TermList[] {
    const columns = [terms.map(({ combination }) => combination), terms.map(({ value }) => value)]
    const rows = this.#all.all(...columns.map((column) => JSON.stringify(column))) as unknown as readonly TermRow[]
    const ofKeys = Map.groupBy(rows, ([, , , , combination, value]) => keyOf(combination, value))
    return terms.map((term) => ({ ...term, list: this.#lists.add(term.key, (ofKeys.get(term.key) ?? []).map(blockOf)) }))
  }

  #docsOf(term: TermList, among: DocSet | undefined): readonly DocSet[] {
    const { key, list } = term
    const blocks = blocksAmong(list, among)
    if (!isLargePart(list, blocks)) return this.#docsOfBlocks(term, blocks)
    if (list.joined !== undefined) return [list.joined]
    const joined = union(this.#docsOfBlocks(term, list.blocks))
    this.#lists.keepJoined(key, list, joined)
    return [joined]
  }

  #docsOfBlocks({ combination, value, key, list }: TermList, blocks: readonly DocsBlock[]): readonly DocSet[] {
    return blocks.map((block) => {
      this.#budget.tick()
      if (block.entries !== undefined) return block.entries
      const docs = compact(docsOfBlock(this.#block.get(combination, value, block.first) as unknown as PackedBlock))
      this.#lists.keep(key, list, block, docs)
      return docs
    })
  }

  #blocks(terms: TermQuery, docs: DocSet | undefined): readonly PackedBlock[] {
    const { text, values } = whereOf(terms)
    const statement = this.#statements.lists(
      `SELECT first, last, n, docs FROM posting WHERE ${text} AND first <= ? AND last >= ? AND ${BUDGET_CONDITION.text}`,
    )
    const [from, to] = docs === undefined ? [0, DOC_NUMBER_END] : [firstOf(docs), lastOf(docs)]
    return statement.all(...values, to, from) as unknown as readonly PackedBlock[]
  }
}

const keyOf = (combination: number, value: string): string => `${combination} ${value}`

const whereOf = ({ combinations, condition: { text, values } }: TermQuery): Sql => ({
  text: `combination IN (${combinations.join(', ')}) AND ${text}`,
  values,
})

function blockOf([first, last, n, docs]: TermRow): DocsBlock {
  return { first, last, n, entries: n === 1 || docs !== null ? compact(docsOfBlock([first, last, n, docs])) : undefined }
}
