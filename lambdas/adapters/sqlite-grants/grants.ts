/** Grants in the grants file. Expired grants count as absent. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Grant, GrantKind, GrantRow, Grants } from '../../ports/rows/grants.ts'
import { runRead } from './read-retry.ts'
import type { GrantsWriter } from './writer.ts'

/** Default maximum of grants per page of `listOf`. */
export const PAGE_SIZE = 1_000

const LIVES = '(expires IS NULL OR expires > :now)'
const ADD = `
  INSERT INTO grant (kind, key, number, owner, expires, json) VALUES (:kind, :key, :next, :owner, :expires, :json)
  ON CONFLICT DO UPDATE SET number = excluded.number, owner = excluded.owner, expires = excluded.expires, json = excluded.json
  WHERE grant.expires IS NOT NULL AND grant.expires <= :now`
const REPLACE = `
  UPDATE grant SET number = :next, owner = :owner, expires = :expires, json = :json
  WHERE kind = :kind AND key = :key AND number = :number AND ${LIVES}`
/** Removes a grant. `:number` null: regardless of its number. */
const REMOVE = `DELETE FROM grant WHERE kind = :kind AND key = :key AND number = coalesce(:number, number) AND ${LIVES}`
const SWEEP = 'DELETE FROM grant WHERE expires <= :now'

type Row = { readonly key: string; readonly number: number; readonly owner: string; readonly expires: number | null; readonly json: string }

export class SqliteGrants implements Grants {
  readonly #db: DatabaseSync
  readonly #now: () => number
  readonly #writer: GrantsWriter
  readonly #one: StatementSync
  readonly #owned: StatementSync

  constructor(db: DatabaseSync, writer: GrantsWriter, now: () => number, page: number) {
    this.#db = db
    this.#now = now
    this.#writer = writer
    const living = 'SELECT key, number, owner, expires, json FROM grant WHERE (expires IS NULL OR expires > ?) AND kind = ?'
    this.#one = db.prepare(`${living} AND key = ?`)
    this.#owned = db.prepare(`${living} AND owner = ? AND owner <> '' AND key > ? ORDER BY key LIMIT ${page}`)
  }

  add(kind: GrantKind, key: string, grant: Grant): Promise<boolean> {
    return this.#writer.make(ADD, { kind, key, now: this.#now(), ...rowOf(grant) })
  }

  async get(kind: GrantKind, key: string): Promise<GrantRow | undefined> {
    const row = runRead(this.#db, () => this.#one.get(this.#now(), kind, key) as Row | undefined)
    return row === undefined ? undefined : grantOf(row)
  }

  replace(kind: GrantKind, { key, number }: GrantRow, by: Grant): Promise<boolean> {
    return this.#writer.make(REPLACE, { kind, key, number, now: this.#now(), ...rowOf(by) })
  }

  remove(kind: GrantKind, key: string, number: number | null = null): Promise<boolean> {
    return this.#writer.make(REMOVE, { kind, key, number, now: this.#now() })
  }

  async listOf(kind: GrantKind, owner: string, after = ''): Promise<readonly GrantRow[]> {
    return runRead(this.#db, () => this.#owned.all(this.#now(), kind, owner, after) as unknown as readonly Row[]).map(grantOf)
  }

  async sweep(): Promise<void> {
    await this.#writer.make(SWEEP, { now: this.#now() })
  }
}

const rowOf = ({
  owner,
  value,
  expires = null,
}: {
  readonly owner: string
  readonly value: unknown
  readonly expires?: number | null
}) => ({
  owner,
  expires,
  json: JSON.stringify(value),
})

const grantOf = ({ key, number, owner, expires, json }: Row): GrantRow => ({
  key,
  number,
  owner,
  value: JSON.parse(json),
  ...(expires === null ? {} : { expires }),
})
