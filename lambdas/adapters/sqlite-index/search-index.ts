/**
 * SearchIndex on SQLite, for one thread. Its transaction stays open over many documents. Searches use the same connection, so they also
 * find documents that are not committed.
 */
import type { DatabaseSync } from 'node:sqlite'
import { runToEnd } from '../../ports/execution/generator-driver.ts'
import type { Freshness, GroupPlan, Matching, Plan } from '../../ports/search/plan.ts'
import type { GroupPage, HitPage, IndexDocument, SearchIndex } from '../../ports/search/search-index.ts'
import { IndexNumbers } from './index-numbers.ts'
import { Intervals } from './intervals/intervals.ts'
import { Postings } from './lists/postings.ts'
import { TupleLists } from './lists/tuple-lists.ts'
import { searchBudgetOf, type YieldCheck } from './reading/budget.ts'
import { CachedColumns } from './reading/cached-columns.ts'
import { GroupReader } from './reading/group-reader.ts'
import { IndexReader } from './reading/index-reader.ts'
import { PageCandidates } from './reading/page-candidates.ts'
import { openIndex } from './schema.ts'
import { Statements } from './statements.ts'
import { IndexWriter } from './writing/index-writer.ts'

export type IndexOptions = {
  /** Maximum matches per type that are sorted at once. More are read in the requested order, until the page is full. */
  readonly gathered?: number
  /** Maximum milliseconds of a search. A longer one throws the fault `too-costly`. Default: no limit. */
  readonly budget?: number
  /** Called at intervals while a search runs. If it returns true, the search throws SearchPreempted. */
  readonly givesWay?: YieldCheck
  /** Number of unwritten documents, summed over the terms, above which `isFull` is true. Default: MOST_PENDING. */
  readonly pending?: number
  /** Maximum bytes of cached sort values and groups (cached-columns.ts). */
  readonly leading?: number
}

const MOST_PENDING = 1_000_000
/**
 * Multiple of the limit `pending`. Above it, everything in memory is written at once, because the caller did not call `prepareCommit` in
 * time.
 */
const TOO_MANY = 4

export class SqliteSearchIndex implements SearchIndex {
  readonly #db: DatabaseSync
  readonly #postings: Postings
  readonly #intervals: Intervals
  readonly #tuples: TupleLists
  readonly #columns: CachedColumns
  readonly #mostPending: number
  readonly #reader: IndexReader
  readonly #groups: GroupReader
  readonly #writer: IndexWriter
  /** Steps of the write in progress, from memory to the file. undefined: no write is in progress. */
  #writing: Generator<undefined> | undefined
  /** Whether `applying` has begun and not ended. A document may then be only partly in the index. */
  #isApplying = false
  readonly #about
  readonly #setAbout

  constructor(file: string, options: IndexOptions = {}) {
    const { gathered, budget: milliseconds = Number.POSITIVE_INFINITY, givesWay, pending = MOST_PENDING, leading: room } = options
    const db = openIndex(file)
    const budget = searchBudgetOf(db, milliseconds, givesWay)
    this.#db = db
    this.#mostPending = pending
    this.#postings = new Postings(db, budget)
    const tuples = new TupleLists(db)
    this.#tuples = tuples
    this.#intervals = new Intervals(db, budget, (field) => tuples.drop(-field))
    this.#columns = new CachedColumns(new Statements(db), room)
    const kept = { tuples, hidden: new Set<number>(), columns: this.#columns }
    const lists = { numbers: new IndexNumbers(db), postings: this.#postings, intervals: this.#intervals, ...kept }
    const leading = new PageCandidates(this.#columns)
    this.#reader = new IndexReader({ db, ...lists, leading, budget, ...(gathered === undefined ? {} : { gathered }) })
    this.#groups = new GroupReader(this.#reader, this.#columns, budget)
    this.#writer = new IndexWriter(db, lists)
    this.#about = this.#db.prepare('SELECT value FROM about WHERE name = ?')
    this.#setAbout = this.#db.prepare('INSERT OR REPLACE INTO about VALUES (?, ?)')
  }

  async apply(documents: readonly IndexDocument[]): Promise<void> {
    this.applyNow(documents)
    this.commit()
  }

  /**
   * Applies documents. Searches see them at once, and the next `commit` stores them. An error discards all documents since the last commit.
   * `again`: also replaces documents of the same version, not only of older ones.
   */
  applyNow(documents: readonly IndexDocument[], options?: { readonly again: boolean }): void {
    runToEnd(this.applying(documents, options))
  }

  /**
   * Works like applyNow, but in pieces if a document has very many values. Between two pieces, searches see the document either as it was
   * before or as it is after.
   */
  *applying(documents: readonly IndexDocument[], { again = false } = {}): Generator<undefined, void> {
    if (!this.#db.isTransaction) this.#db.exec('BEGIN')
    this.#isApplying = true
    const pieces = this.#writer.applying(documents, again)
    while (this.#applied(pieces)) yield
    this.#isApplying = false
  }

  /** Applies the next piece. Returns false if it was the last one. If it throws, everything since the last commit is rolled back. */
  #applied(pieces: Generator<undefined>): boolean {
    this.#reader.onChange()
    try {
      const { done } = pieces.next()
      if (this.#postings.size > this.#mostPending * TOO_MANY) this.#writeAll()
      return done !== true
    } catch (error) {
      this.#rollBack()
      throw error
    }
  }

  #rollBack(): void {
    this.#db.exec('ROLLBACK')
    this.#isApplying = false
    this.#writing = undefined
    this.#postings.clear()
    this.#intervals.clear()
    this.#tuples.clear()
    this.#columns.clear()
    this.#writer.reset()
  }

  /** Whether so many documents of terms are in memory that the caller should call `prepareCommit` before it applies more. */
  get isFull(): boolean {
    return this.#postings.size > this.#mostPending
  }

  /**
   * Writes some of the entries in memory to the file, so that the next commit takes less time. Returns true at the end of a pass over all
   * entries.
   */
  prepareCommit(): boolean {
    this.#writing ??= this.#write()
    if (this.#writing.next().done !== true) return false
    this.#writing = undefined
    return true
  }

  /** Writes all entries in memory and commits the applied documents. Throws TypeError between two pieces of a document. */
  commit(): void {
    if (this.#isApplying) throw new TypeError('a document is half in the index')
    if (!this.#db.isTransaction) return
    this.#writeAll()
    this.#db.exec('COMMIT')
  }

  async find(plan: Plan): Promise<HitPage> {
    return this.findNow(plan)
  }

  findNow(plan: Plan): HitPage {
    return this.#reader.find(plan)
  }

  async distinct(matching: Matching & Freshness, field: string, limit: number): Promise<readonly string[]> {
    return this.distinctNow(matching, field, limit)
  }

  distinctNow(matching: Matching & Freshness, field: string, limit: number): readonly string[] {
    return this.#reader.distinct(matching, field, limit)
  }

  async groups(plan: GroupPlan): Promise<GroupPage> {
    return this.groupsNow(plan)
  }

  groupsNow(plan: GroupPlan): GroupPage {
    return this.#groups.read(plan)
  }

  async explain(plan: Plan): Promise<readonly string[]> {
    return this.explainNow(plan)
  }

  explainNow(plan: Plan): readonly string[] {
    return this.#reader.explain(plan)
  }

  async caughtUp(): Promise<boolean> {
    return true
  }

  /**
   * Returns the types, of all tenants, with documents that have a key ≥ `from` and < `to` in any field. Ignores keys that are only in
   * memory.
   */
  typesWithKeys(from: string, to: string): readonly { readonly tenant: string; readonly type: string }[] {
    const found = this.#db.prepare(`SELECT DISTINCT tenant, type FROM combination JOIN kind USING (kind) WHERE EXISTS
      (SELECT 1 FROM posting WHERE posting.combination = combination.combination AND value >= ? AND value < ?)`)
    return found.all(from, to) as { tenant: string; type: string }[]
  }

  /**
   * Returns a value that `setNote` stored in the index, such as its position in the change feed. Notes are part of the index's transaction.
   */
  note(name: string): string | number | undefined {
    return (this.#about.get(name) as { readonly value: string | number } | undefined)?.value
  }

  setNote(name: string, value: string | number): void {
    if (!this.#db.isTransaction) this.#db.exec('BEGIN')
    this.#setAbout.run(name, value)
  }

  /** Commits and closes the file. If `applying` has not ended, rolls back to the last commit instead. */
  close(): void {
    // guard: failed-index-write-rolls-back
    if (this.#isApplying) this.#rollBack()
    this.commit()
    this.#db.close()
  }

  #writeAll(): void {
    while (!this.prepareCommit());
    // The first pass may complete a write that began before the latest entries arrived. The second one writes those.
    while (!this.prepareCommit());
  }

  *#write(): Generator<undefined> {
    yield* this.#postings.writing()
    yield* this.#intervals.writing()
  }
}
