/** SearchIndex on SQLite, for one thread. Its transaction is held open over many documents: searches of the same connection see them. */
import type { DatabaseSync } from 'node:sqlite'
import type { GroupPage, HitPage, IndexDocument, SearchIndex } from '../../ports/search-index.ts'
import type { GroupPlan, Matching, Plan } from '../../search/plan.ts'
import { distinctOf, groupsOf } from './groups.ts'
import { IndexReader, type ReaderOptions } from './index-reader.ts'
import { openIndex } from './index-schema.ts'
import { IndexWriter } from './index-writer.ts'

export class SqliteSearchIndex implements SearchIndex {
  readonly #db: DatabaseSync
  readonly #reader: IndexReader
  readonly #writer: IndexWriter
  readonly #about
  readonly #setAbout

  constructor(file: string, options?: ReaderOptions) {
    this.#db = openIndex(file)
    this.#reader = new IndexReader(this.#db, options)
    this.#writer = new IndexWriter(this.#db)
    this.#about = this.#db.prepare('SELECT value FROM about WHERE name = ?')
    this.#setAbout = this.#db.prepare('INSERT OR REPLACE INTO about VALUES (?, ?)')
  }

  async apply(documents: readonly IndexDocument[]): Promise<void> {
    this.applyNow(documents)
    this.commit()
  }

  /** Visible to searches at once, kept by the next `commit`. After an error the documents since the last commit are gone. `again`: also what it has. */
  applyNow(documents: readonly IndexDocument[], { again = false } = {}): void {
    if (!this.#db.isTransaction) this.#db.exec('BEGIN')
    try {
      this.#writer.apply(documents, again)
    } catch (error) {
      this.#db.exec('ROLLBACK')
      this.#writer.reset()
      throw error
    }
  }

  commit(): void {
    if (this.#db.isTransaction) this.#db.exec('COMMIT')
  }

  async find(plan: Plan): Promise<HitPage> {
    return this.findNow(plan)
  }

  findNow(plan: Plan): HitPage {
    return this.#reader.find(plan)
  }

  async distinct(matching: Matching, field: string, limit: number): Promise<readonly string[]> {
    return this.distinctNow(matching, field, limit)
  }

  distinctNow(matching: Matching, field: string, limit: number): readonly string[] {
    return distinctOf(this.#reader.matches(matching, []), field, limit)
  }

  async groups(plan: GroupPlan): Promise<GroupPage> {
    return this.groupsNow(plan)
  }

  groupsNow(plan: GroupPlan): GroupPage {
    return groupsOf(this.#reader.matches(plan, plan.order), plan)
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

  /** A note of the index about itself, part of its transaction. */
  note(name: string): string | number | undefined {
    return (this.#about.get(name) as { readonly value: string | number } | undefined)?.value
  }

  setNote(name: string, value: string | number): void {
    if (!this.#db.isTransaction) this.#db.exec('BEGIN')
    this.#setAbout.run(name, value)
  }

  close(): void {
    this.commit()
    this.#db.close()
  }
}
