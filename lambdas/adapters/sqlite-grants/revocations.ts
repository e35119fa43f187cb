/** Revocations in the grants file. A repeated revocation of a key can only extend it. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Revocation, RevocationKey, Revocations } from '../../ports/rows/revocations.ts'
import { runRead } from './read-retry.ts'
import type { GrantsWriter } from './writer.ts'

const REVOKE = `
  INSERT INTO revocation (mark, before, until) VALUES (:mark, :before, :until)
  ON CONFLICT DO UPDATE SET before = max(before, excluded.before), until = max(until, excluded.until)`
const SWEEP = 'DELETE FROM revocation WHERE until <= :now'

export class SqliteRevocations implements Revocations {
  readonly #db: DatabaseSync
  readonly #now: () => number
  readonly #writer: GrantsWriter
  readonly #one: StatementSync
  /** Statements that look for any of several keys, by the number of keys. */
  readonly #any = new Map<number, StatementSync>()

  constructor(db: DatabaseSync, writer: GrantsWriter, now: () => number) {
    this.#db = db
    this.#now = now
    this.#writer = writer
    this.#one = db.prepare('SELECT before FROM revocation WHERE mark = ? AND until > ?')
  }

  async revoked(marks: readonly RevocationKey[]): Promise<ReadonlyMap<RevocationKey, number>> {
    const now = this.#now()
    // Most keys are not revoked. One statement for all costs less than half of one for each.
    if (runRead(this.#db, () => this.#anyOf(marks.length).get(...marks, now)) === undefined) return new Map()
    const found = marks.flatMap((mark) => {
      const row = runRead(this.#db, () => this.#one.get(mark, now) as { readonly before: number } | undefined)
      return row === undefined ? [] : [[mark, row.before] as const]
    })
    return new Map(found)
  }

  async revoke({ mark, before, until }: Revocation): Promise<void> {
    await this.#writer.make(REVOKE, { mark, before, until })
  }

  async sweep(): Promise<void> {
    await this.#writer.make(SWEEP, { now: this.#now() })
  }

  #anyOf(count: number): StatementSync {
    let statement = this.#any.get(count)
    if (statement === undefined) {
      statement = this.#db.prepare(`SELECT 1 FROM revocation WHERE mark IN (${Array(count).fill('?').join()}) AND until > ? LIMIT 1`)
      this.#any.set(count, statement)
    }
    return statement
  }
}
