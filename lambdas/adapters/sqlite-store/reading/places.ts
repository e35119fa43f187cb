/** Entries of the index `history`, newest first. They are read without the contents of the versions. */
import type { DatabaseSync } from 'node:sqlite'
import type { HistoryPosition, HistoryWindow } from '../../../ports/store/resource-store.ts'
import { nextPositionSql } from '../keys/recent-keys.ts'
import { committedCondition } from '../rows.ts'

export type HistoryIndexEntry = { readonly lastUpdated: number; readonly id: string; readonly vid: number; readonly seq: number }

const FOREVER = Number.MAX_SAFE_INTEGER
const AFTER_ALL_IDS = '\u{10ffff}'

/**
 * SQL condition: no next version has lastUpdated ≤ ?1, so the version was current at the instant ?1 or appeared later. A negative ?1
 * disables the condition.
 */
const NOT_SUPERSEDED = `(?1 < 0 OR NOT EXISTS (SELECT 1 FROM version w WHERE w.seq = ${nextPositionSql('v')} AND w.lastUpdated <= ?1))`

const placesWhere = (condition: string): string =>
  `SELECT v.lastUpdated, v.id, v.vid, v.seq FROM version v INDEXED BY history
   WHERE v.kind = ?2 AND ${condition} AND ${committedCondition('v')} AND ${NOT_SUPERSEDED} ORDER BY v.lastUpdated DESC, v.id, v.vid DESC LIMIT ?3`

export class HistoryIndexReader {
  readonly #ofInstant
  readonly #upTo

  constructor(db: DatabaseSync) {
    this.#ofInstant = db.prepare(placesWhere('v.lastUpdated = ?4 AND v.id >= ?5 AND (v.id > ?5 OR v.vid < ?6)'))
    this.#upTo = db.prepare(placesWhere('v.lastUpdated >= ?4 AND v.lastUpdated <= ?5'))
  }

  /**
   * Yields the entries of a kind in the window that follow the position `after`. Reads `step` entries first, then doubles the number with
   * each read.
   */
  *after(
    kind: number,
    window: HistoryWindow,
    after: Omit<HistoryIndexEntry, 'seq'> | undefined,
    step: number,
  ): Generator<HistoryIndexEntry, undefined> {
    let last = after
    for (let size = step; ; size *= 2) {
      const rows = this.#read(kind, window, last, size)
      yield* rows
      if (rows.length < size) return
      last = rows.at(-1)
    }
  }

  #read(kind: number, window: HistoryWindow, last: Omit<HistoryIndexEntry, 'seq'> | undefined, size: number): readonly HistoryIndexEntry[] {
    const { since = 0, before = FOREVER, currentAt = -1 } = window
    const isInside = last !== undefined && last.lastUpdated >= since && last.lastUpdated < before
    const rows = isInside ? this.#ofInstant.all(currentAt, kind, size, last.lastUpdated, last.id, last.vid) : []
    if (rows.length < size) {
      const newest = Math.min(before - 1, last === undefined ? FOREVER : last.lastUpdated - 1)
      rows.push(...this.#upTo.all(currentAt, kind, size - rows.length, since, newest))
    }
    return rows as unknown as HistoryIndexEntry[]
  }
}

/**
 * Returns the position after which the entries of a type continue, when a merged history continues after `after`. At that instant, types
 * before `after.type` are complete and types after it have not begun.
 */
export function resumeKeyOf(type: string, after: HistoryPosition): Omit<HistoryIndexEntry, 'seq'> {
  const { lastUpdated, id, versionId } = after
  if (type === after.type) return { lastUpdated, id, vid: versionId }
  return { lastUpdated, id: type > after.type ? '' : AFTER_ALL_IDS, vid: 0 }
}
