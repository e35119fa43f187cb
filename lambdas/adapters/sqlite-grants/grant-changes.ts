/** Changes of the grants file. A transaction applies several of them in order. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { GrantKind } from '../../ports/rows/grants.ts'
import type { Revocation } from '../../ports/rows/revocations.ts'

export type RegisteredKind = 'client' | 'user'
type GrantRow = { readonly owner: string; readonly expires: number | null; readonly json: string }

/**
 * `number`: expected number of the stored entry; 0: no entry; null: any. If the number differs, the change has no effect. `now`:
 * milliseconds since 1970.
 */
export type GrantChange =
  | {
      readonly do: 'register'
      readonly kind: RegisteredKind
      readonly name: string
      readonly number: number
      readonly json: string | undefined
    }
  | ({ readonly do: 'add'; readonly kind: GrantKind; readonly key: string; readonly now: number } & GrantRow)
  | ({ readonly do: 'replace'; readonly kind: GrantKind; readonly key: string; readonly number: number; readonly now: number } & GrantRow)
  | { readonly do: 'remove'; readonly kind: GrantKind; readonly key: string; readonly number: number | null; readonly now: number }
  | ({ readonly do: 'revoke' } & Revocation)
  | { readonly do: 'sweep'; readonly now: number }

const NEXT = 'UPDATE change SET last = last + 1 RETURNING last'
const LIVES = '(expires IS NULL OR expires > ?)'
const ADD = `
  INSERT INTO grant (kind, key, number, owner, expires, json) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET number = excluded.number, owner = excluded.owner, expires = excluded.expires, json = excluded.json
  WHERE grant.expires IS NOT NULL AND grant.expires <= ?`
const REPLACE = `UPDATE grant SET number = ?, owner = ?, expires = ?, json = ? WHERE kind = ? AND key = ? AND number = ? AND ${LIVES}`
const REMOVE = `DELETE FROM grant WHERE kind = ? AND key = ? AND number = coalesce(?, number) AND ${LIVES}`
const REVOKE = `
  INSERT INTO revocation (mark, before, until) VALUES (?, ?, ?)
  ON CONFLICT DO UPDATE SET before = max(before, excluded.before), until = max(until, excluded.until)`

export class GrantChanges {
  readonly #db: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()

  constructor(db: DatabaseSync) {
    this.#db = db
  }

  /** Applies the changes in one transaction with one flush. Returns for each whether it had an effect. If it throws, none had. */
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

  #make(change: GrantChange): boolean {
    switch (change.do) {
      case 'register':
        return this.#register(change)
      case 'add': {
        const { kind, key, owner, expires, json, now } = change
        return this.#run(ADD, kind, key, this.#next(), owner, expires, json, now)
      }
      case 'replace': {
        const { kind, key, number, owner, expires, json, now } = change
        return this.#run(REPLACE, this.#next(), owner, expires, json, kind, key, number, now)
      }
      case 'remove':
        return this.#run(REMOVE, change.kind, change.key, change.number, change.now)
      case 'revoke':
        return this.#run(REVOKE, change.mark, change.before, change.until)
      case 'sweep':
        this.#run('DELETE FROM grant WHERE expires <= ?', change.now)
        return this.#run('DELETE FROM revocation WHERE until <= ?', change.now)
    }
  }

  #register({ kind, name, number, json }: Extract<GrantChange, { readonly do: 'register' }>): boolean {
    if (json === undefined) return this.#run(`DELETE FROM ${kind} WHERE name = ? AND number = ?`, name, number)
    if (number === 0)
      return this.#run(`INSERT INTO ${kind} (name, number, json) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, name, this.#next(), json)
    return this.#run(`UPDATE ${kind} SET number = ?, json = ? WHERE name = ? AND number = ?`, this.#next(), json, name, number)
  }

  #next(): number {
    return (this.#statement(NEXT).get() as { readonly last: number }).last
  }

  #run(sql: string, ...values: readonly (string | number | null)[]): boolean {
    return Number(this.#statement(sql).run(...values).changes) > 0
  }

  #statement(sql: string): StatementSync {
    const known = this.#statements.get(sql) ?? this.#db.prepare(sql)
    this.#statements.set(sql, known)
    return known
  }
}
