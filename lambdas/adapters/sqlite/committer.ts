/** Applies commits on the writing connection, many of them in one transaction of SQLite. */
import type { DatabaseSync } from 'node:sqlite'
import { type CommitMessage, type CommitReply, type PackedGuard, type PackedWrite, unpack } from './commit-message.ts'

const HOUR = 60 * 60 * 1000

export class Committer {
  readonly #db: DatabaseSync
  readonly #statements
  readonly #kinds = new Map<string, number>()
  #position: number
  #newest = 0

  constructor(db: DatabaseSync) {
    this.#db = db
    this.#statements = {
      begin: db.prepare('BEGIN IMMEDIATE'),
      commit: db.prepare('COMMIT'),
      rollback: db.prepare('ROLLBACK'),
      head: db.prepare('SELECT vid FROM key WHERE kind = ? AND id = ? ORDER BY vid DESC LIMIT 1'),
      kind: db.prepare('SELECT kind FROM kind WHERE tenant = ? AND type = ?'),
      addKind: db.prepare('INSERT INTO kind (tenant, type) VALUES (?, ?)'),
      version: db.prepare('INSERT INTO version VALUES (?, ?, ?, ?, ?, ?, ?, ?)'),
      key: db.prepare('INSERT INTO key VALUES (?, ?, ?, ?)'),
      guard: db.prepare('SELECT type, id FROM guard WHERE tenant = ? AND guard = ?'),
      bind: db.prepare('INSERT OR REPLACE INTO guard VALUES (?, ?, ?, ?, ?)'),
      forget: db.prepare('DELETE FROM guard WHERE bound < ?'),
    }
    this.#position = (db.prepare('SELECT max(seq) AS seq FROM version').get() as { seq: number | null }).seq ?? 0
  }

  /** The position of the last version committed. */
  get position(): number {
    return this.#position
  }

  /** All of them in one transaction; each alone succeeds or meets its conflict. When that fails, each is tried in one of its own. */
  commitAll(messages: readonly CommitMessage[]): readonly CommitReply[] {
    const before = this.#position
    let hasBegun = false
    try {
      this.#statements.begin.run()
      hasBegun = true
      const replies = messages.map((message) => ({ ...this.#commit(message), number: message.number }))
      this.#statements.commit.run()
      return replies
    } catch (error) {
      this.#position = before
      this.#kinds.clear()
      if (this.#db.isTransaction) this.#statements.rollback.run()
      if (hasBegun && messages.length > 1) return messages.flatMap((message) => this.commitAll([message]))
      const failed = error instanceof Error ? error.message : String(error)
      return messages.map(({ number }) => ({ number, failed }))
    }
  }

  /** Forgets the guards bound an hour before the newest version. */
  forgetGuards(): void {
    this.#statements.forget.run(this.#newest - HOUR)
  }

  #commit(message: CommitMessage): Omit<CommitReply, 'number'> {
    const { tenant, writes, guards } = unpack(message)
    const kinds = writes.map(({ type }) => this.#kindOf(tenant, type))
    const write = writes.findIndex(({ id, expected }, i) => this.#headOf(kinds[i]!, id) !== expected)
    if (write !== -1) return { write }
    const held = this.#heldGuard(tenant, guards)
    if (held !== undefined) return held
    for (let i = 0; i < writes.length; i++) this.#append(kinds[i]!, writes[i]!)
    for (const { guard, holder } of guards) this.#statements.bind.run(tenant, guard, holder.type, holder.id, this.#newest)
    return {}
  }

  #append(kind: number, { id, expected, lastUpdated, deleted, compartments, body }: PackedWrite): void {
    const seq = ++this.#position
    this.#newest = Math.max(this.#newest, lastUpdated)
    this.#statements.version.run(seq, kind, id, expected + 1, lastUpdated, deleted ? 1 : 0, compartments, body)
    this.#statements.key.run(kind, id, expected + 1, seq)
  }

  #headOf(kind: number, id: string): number {
    const row = this.#statements.head.get(kind, id) as { readonly vid: number } | undefined
    return row?.vid ?? 0
  }

  #heldGuard(tenant: string, guards: readonly PackedGuard[]): Omit<CommitReply, 'number'> | undefined {
    for (let guard = 0; guard < guards.length; guard++) {
      const { holder, replaces, guard: name } = guards[guard]!
      const row = this.#statements.guard.get(tenant, name) as { readonly type: string; readonly id: string } | undefined
      const isFree = row === undefined || [holder, replaces].some((mine) => mine?.type === row.type && mine.id === row.id)
      if (!isFree) return { guard, holder: { tenant, type: row.type, id: row.id } }
    }
    return undefined
  }

  #kindOf(tenant: string, type: string): number {
    const name = `${tenant}\n${type}`
    let kind = this.#kinds.get(name)
    if (kind === undefined) {
      const row = this.#statements.kind.get(tenant, type) as { readonly kind: number } | undefined
      kind = row?.kind ?? Number(this.#statements.addKind.run(tenant, type).lastInsertRowid)
      this.#kinds.set(name, kind)
    }
    return kind
  }
}
