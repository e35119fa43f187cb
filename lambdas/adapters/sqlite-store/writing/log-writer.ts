/** Reads and appends to the version log on the writing connection. */
import type { DatabaseSync } from 'node:sqlite'
import type { HeldGuard } from '../../../ports/store/resource-store.ts'
import { ContentPacker } from '../bodies/content-packer.ts'
import { checksumOf } from '../damage.ts'
import type { KeyFilter } from '../keys/key-filter.ts'
import { type KeyTableRow, type RecentKeyList, RecentKeys } from '../keys/recent-keys.ts'
import type { PackedGuard, PackedWrite } from './commit-message.ts'

const MINUTE = 60 * 1000
const HOUR = 60 * MINUTE

/** Reason why a commit is rejected. `write`: index of the write that expects another current version. `held`: guards of other resources. */
export type CommitConflict = { readonly write: number } | { readonly held: readonly HeldGuard[] }

/** New version with its position in the log. */
export type LogRow = { readonly seq: number; readonly kind: number; readonly write: PackedWrite }

export class LogWriter {
  /** Position of the last version that is committed, or that the open transaction will commit. Staged versions do not count. */
  position: number
  /** Work since the last checkpoint: number of keys merged into the key table, and stored bytes of bodies. */
  written = { keys: 0, bytes: 0 }
  readonly recent: RecentKeys
  readonly #db: DatabaseSync
  readonly #old: KeyFilter
  readonly #statements
  readonly #packer: ContentPacker
  readonly #kinds = new Map<string, number>()
  /** Keys of the open transaction that are not yet in a row of `recent`. */
  #keys: RecentKeyList = []
  /** Position of the first of `#keys`. */
  #first = 0
  /** Time of the last commit, in milliseconds since 1970. */
  #at = 0
  #forgotten = 0

  /** `old`: filter of the key table, updated by `takeOver`. `dictionarySize`: bytes of a dictionary (content-packer.ts). */
  constructor(db: DatabaseSync, old: KeyFilter, dictionarySize?: number) {
    this.#db = db
    this.#packer = new ContentPacker(db, dictionarySize)
    this.#old = old
    this.recent = new RecentKeys(db)
    this.recent.refresh()
    this.#statements = {
      begin: db.prepare('BEGIN IMMEDIATE'),
      commit: db.prepare('COMMIT'),
      rollback: db.prepare('ROLLBACK'),
      head: db.prepare('SELECT vid FROM key WHERE kind = ? AND id = ? ORDER BY vid DESC LIMIT 1'),
      kind: db.prepare('SELECT kind FROM kind WHERE tenant = ? AND type = ?'),
      addKind: db.prepare('INSERT INTO kind (tenant, type) VALUES (?, ?)'),
      version: db.prepare('INSERT INTO version VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)'),
      recent: db.prepare('INSERT INTO recent VALUES (?, ?)'),
      key: db.prepare('INSERT OR IGNORE INTO key VALUES (?, ?, ?, ?)'),
      taken: db.prepare('DELETE FROM recent WHERE seq <= ?'),
      upTo: db.prepare('INSERT INTO recent VALUES (0, ?)'),
      guard: db.prepare('SELECT type, id FROM guard WHERE tenant = ? AND guard = ?'),
      bind: db.prepare('INSERT OR REPLACE INTO guard VALUES (?, ?, ?, ?, ?)'),
      forget: db.prepare('DELETE FROM guard WHERE bound < ?'),
      stage: db.prepare('INSERT OR IGNORE INTO staged VALUES (?)'),
      show: db.prepare('DELETE FROM staged'),
    }
    this.position = (db.prepare('SELECT max(seq) AS seq FROM version').get() as { seq: number | null }).seq ?? 0
  }

  /** Runs `write` in a transaction and rolls back if it throws. */
  atomically<T>(write: () => T): T {
    try {
      this.begin()
      const result = write()
      this.commit()
      return result
    } catch (error) {
      this.rollback()
      throw error
    }
  }

  begin(): void {
    this.#statements.begin.run()
  }

  commit(): void {
    if (this.#keys.length > 0) this.#statements.recent.run(this.#first, JSON.stringify(this.#keys))
    this.#statements.commit.run()
    this.#keys = []
  }

  rollback(): void {
    this.#kinds.clear()
    this.#packer.forget()
    for (let i = this.#keys.length - 3; i >= 0; i -= 3) this.recent.takeBack(this.#keys[i] as number, this.#keys[i + 1] as string)
    this.#keys = []
    if (this.#db.isTransaction) this.#statements.rollback.run()
  }

  kindOf(tenant: string, type: string): number {
    const name = `${tenant}\n${type}`
    let kind = this.#kinds.get(name)
    if (kind === undefined) {
      const row = this.#statements.kind.get(tenant, type) as { readonly kind: number } | undefined
      kind = row?.kind ?? Number(this.#statements.addKind.run(tenant, type).lastInsertRowid)
      this.#kinds.set(name, kind)
    }
    return kind
  }

  /** Whether the version that the write expects is the current one of its resource. */
  isNext({ kind, write: { id, expected } }: LogRow): boolean {
    return (this.recent.head(kind, id)?.vid ?? this.#oldHead(kind, id)) === expected
  }

  /** Returns the highest version number of the resource in the key table, or 0 if there is none. */
  #oldHead(kind: number, id: string): number {
    if (!this.#old.mayHave(kind, id)) return 0
    return (this.#statements.head.get(kind, id) as { readonly vid: number } | undefined)?.vid ?? 0
  }

  /** Returns undefined if the guard is free, or if its own holder or the resource that it replaces has it. */
  heldGuard(tenant: string, { guard, holder, replaces }: PackedGuard, index: number): HeldGuard | undefined {
    const row = this.#statements.guard.get(tenant, guard) as { readonly type: string; readonly id: string } | undefined
    const isFree = row === undefined || [holder, replaces].some((mine) => mine?.type === row.type && mine.id === row.id)
    return isFree ? undefined : { index, holder: { tenant, type: row.type, id: row.id } }
  }

  addVersion({ seq, kind, write }: LogRow): void {
    const { type, id, expected, lastUpdated, made, compartments, body } = write
    const versionId = expected + 1
    const deleted = write.deleted ? 1 : 0
    const sum = checksumOf({ type, id, versionId, lastUpdated, deleted, made, compartments, body })
    const stored = this.#packer.pack(type, { compartments, body })
    this.written.bytes += stored.body.length
    const kept = [stored.compartments, stored.body, sum, made, stored.dictionary]
    this.#statements.version.run(seq, kind, id, versionId, lastUpdated, deleted, ...kept)
  }

  /**
   * Adds the key of a version. The versions of one transaction must have consecutive positions, because their row in `recent` has only the
   * first.
   */
  addKey({ seq, kind, write: { id, expected } }: LogRow): void {
    if (this.#keys.length === 0) this.#first = seq
    this.#keys.push(kind, id, expected + 1)
    this.recent.add(kind, id, expected + 1, seq)
  }

  /** Inserts a recent key into the key table, unless an interrupted merge already did. */
  takeOver(key: KeyTableRow): void {
    this.written.keys += 1
    this.#old.add(key[0], key[1])
    this.#statements.key.run(...key)
  }

  /** Deletes the recent keys up to a position, and records that the key table has them. */
  haveTakenOver(position: number): void {
    this.#statements.taken.run(position)
    this.#statements.upTo.run(String(position))
  }

  /** Binds the guards to their holders. `at`: time of the commit in milliseconds since 1970. */
  bind(tenant: string, guards: readonly PackedGuard[], at: number): void {
    this.#at = at
    for (const { guard, holder } of guards) this.#statements.bind.run(tenant, guard, holder.type, holder.id, at)
  }

  /**
   * Deletes guards that were bound more than an hour before the last commit. Runs at most once per minute of commit times.
   */
  forgetGuards(): void {
    if (Math.abs(this.#at - this.#forgotten) < MINUTE) return
    this.#forgotten = this.#at
    this.#statements.forget.run(this.#at - HOUR)
  }

  /** Hides the versions from this position on, until `showAll`. If versions are already hidden, nothing changes. See staging.ts. */
  hideFrom(seq: number): void {
    this.#statements.stage.run(seq)
  }

  showAll(): void {
    this.#statements.show.run()
  }
}
