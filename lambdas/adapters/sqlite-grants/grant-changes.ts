/** Applies changes to the grants file, several in one transaction. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'

/** SQL statement with its named parameters. `:next` stands for a new number that is unique in the file. */
export type GrantChange = { readonly sql: string; readonly values: GrantValues }

export type GrantValues = Readonly<Record<string, string | number | null>>

const NEXT = 'UPDATE change SET last = last + 1 RETURNING last'

export class GrantChanges {
  readonly #db: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()

  constructor(db: DatabaseSync) {
    this.#db = db
  }

  /**
   * Applies the changes in order, in one transaction with one flush. Returns for each whether it changed a row. If it throws, no change was
   * applied.
   */
  commit(changes: readonly GrantChange[]): readonly boolean[] {
    this.#db.exec('BEGIN IMMEDIATE')
    try {
      const done = changes.map((change) => this.#make(change))
      this.#db.exec('COMMIT')
      return done
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK')
      throw error
    }
  }

  #make({ sql, values }: GrantChange): boolean {
    const next = sql.includes(':next') ? { next: this.#next() } : {}
    return Number(this.#statement(sql).run({ ...values, ...next }).changes) > 0
  }

  #next(): number {
    return (this.#statement(NEXT).get() as { readonly last: number }).last
  }

  #statement(sql: string): StatementSync {
    const known = this.#statements.get(sql) ?? this.#db.prepare(sql)
    this.#statements.set(sql, known)
    return known
  }
}
