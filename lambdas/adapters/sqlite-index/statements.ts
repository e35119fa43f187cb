/** Cache of the prepared statements of a connection. A full cache is cleared. */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'

const MOST_KEPT = 500

export class Statements {
  readonly #db: DatabaseSync
  readonly #known = new Map<string, StatementSync>()

  constructor(db: DatabaseSync) {
    this.#db = db
  }

  prepare(text: string): StatementSync {
    let statement = this.#known.get(text)
    if (statement === undefined) {
      if (this.#known.size === MOST_KEPT) this.#known.clear()
      statement = this.#db.prepare(text)
      this.#known.set(text, statement)
    }
    return statement
  }

  /** Returns a statement that yields rows as arrays, which SQLite creates faster than objects. */
  lists(text: string): StatementSync {
    const statement = this.prepare(text)
    statement.setReturnArrays(true)
    return statement
  }

  /** Yields rows as arrays, one by one. A statement that failed is removed from the cache, because it would report its error again. */
  *each(text: string, ...values: readonly SQLInputValue[]): Generator<unknown, undefined> {
    try {
      yield* this.lists(text).iterate(...values)
    } catch (error) {
      this.#known.delete(text)
      throw error
    }
  }
}
