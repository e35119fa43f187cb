/**
 * Keys of the newest versions. Ids are random, so nearly every insert into the key table would change another page. A transaction therefore
 * writes all its keys in one row of `recent`, and every reading thread caches these rows. key-merge.ts moves many keys to the table at
 * once, so that one write of a page serves several keys.
 */
import type { DatabaseSync } from 'node:sqlite'
import { damagedError } from '../damage.ts'

export type RecentPositions = {
  readonly vid: number
  readonly seq: number
  /** Positions of the earlier versions whose keys are still recent, in ascending order. */
  readonly earlier: number[]
}

export type KeyTableRow = readonly [kind: number, id: string, vid: number, seq: number]

/**
 * JSON list of `kind, id, vid` for one version after another. Their positions are consecutive, starting with that of the row. Row 0 instead
 * has the position up to which keys were merged.
 */
export type RecentKeyList = (number | string)[]

/**
 * Returns SQL for the position of the next version of the same resource, or NULL if the key table does not have it. `alias`: alias of a row
 * of `version`.
 */
export const storedNextPositionSql = (alias: string): string =>
  `(SELECT n.seq FROM key n WHERE n.kind = ${alias}.kind AND n.id = ${alias}.id AND n.vid = ${alias}.vid + 1)`

/**
 * Returns SQL for the position of the next version of the same resource, from the recent keys or the key table; NULL if there is none.
 * Requires a connection with `registerRecentKeys`.
 */
export const nextPositionSql = (alias: string): string =>
  `ifnull(recent_seq(${alias}.kind, ${alias}.id, ${alias}.vid + 1), ${storedNextPositionSql(alias)})`

/** Loads the recent keys of a connection and registers the SQL function `recent_seq`, which looks up positions in them. */
export function registerRecentKeys(db: DatabaseSync): RecentKeys {
  const recent = new RecentKeys(db)
  recent.refresh()
  db.function('recent_seq', (kind, id, vid) => recent.seqOf(kind as number, id as string, vid as number) ?? null)
  return recent
}

function parseKeys(keys: string): RecentKeyList {
  try {
    return JSON.parse(keys) as RecentKeyList
  } catch (error) {
    throw damagedError('keys are not what was written', error)
  }
}

const NONE: number[] = []

/** Cache of the recent keys. Empty before the first refresh. */
export class RecentKeys {
  /**
   * Position up to which all keys are in this cache or in the key table. It may exceed all rows of `recent`, because of merges or gaps that
   * staging left.
   */
  upTo = 0
  /** Number of versions in the cache. */
  size = 0
  readonly #kinds = new Map<number, Map<string, RecentPositions>>()
  readonly #news
  #taken = 0

  constructor(db: DatabaseSync) {
    this.#news = db.prepare('SELECT seq, keys FROM recent WHERE seq = 0 UNION ALL SELECT seq, keys FROM recent WHERE seq > ?')
    this.#news.setReturnArrays(true)
  }

  /**
   * Adds the keys that were committed since the last refresh, and drops merged ones. `acknowledged`: position up to which all versions are
   * committed.
   */
  refresh(acknowledged = 0): void {
    for (const [first, keys] of this.#news.all(this.upTo) as unknown as [number, string][]) {
      if (first === 0) this.#forgetUpTo(Number(keys))
      else this.#addRow(first, parseKeys(keys))
    }
    this.upTo = Math.max(this.upTo, acknowledged)
  }

  #addRow(first: number, keys: RecentKeyList): void {
    for (let i = 0; i < keys.length; i += 3) this.add(keys[i] as number, keys[i + 1] as string, keys[i + 2] as number, first + i / 3)
  }

  /**
   * Drops keys up to a merged position. This thread may have missed rows that the merge deleted, so cached keys of earlier versions may be
   * incomplete.
   */
  #forgetUpTo(taken: number): void {
    if (taken > this.#taken) this.forget(taken)
    this.#taken = taken
  }

  add(kind: number, id: string, vid: number, seq: number): void {
    const ids = this.#kinds.get(kind) ?? new Map<string, RecentPositions>()
    if (ids.size === 0) this.#kinds.set(kind, ids)
    const before = ids.get(id)
    ids.set(id, { vid, seq, earlier: before === undefined ? NONE : appended(before.earlier, before.seq) })
    this.size += 1
    this.upTo = Math.max(this.upTo, seq)
  }

  /** Removes the latest version of the resource from the cache, because its transaction was rolled back. */
  takeBack(kind: number, id: string): void {
    const ids = this.#kinds.get(kind)!
    const { vid, earlier } = ids.get(id)!
    const seq = earlier.pop()
    if (seq === undefined) ids.delete(id)
    else ids.set(id, { vid: vid - 1, seq, earlier })
    this.size -= 1
  }

  /** Returns the positions of the current and earlier versions of a resource, or undefined if the current one is not recent. */
  head(kind: number, id: string): RecentPositions | undefined {
    return this.#kinds.get(kind)?.get(id)
  }

  /** Returns the position of a version if it is recent, otherwise undefined. */
  seqOf(kind: number, id: string, vid: number): number | undefined {
    const head = this.head(kind, id)
    if (head === undefined || vid > head.vid) return undefined
    return vid === head.vid ? head.seq : head.earlier.at(vid - head.vid)
  }

  /** Yields all recent keys, approximately in the order of the key table. Keys that are added meanwhile may be included. */
  *inOrder(): Generator<KeyTableRow, undefined> {
    for (const [kind, ids] of this.#kinds)
      for (const id of sorted(ids.keys())) {
        const { vid, seq, earlier } = ids.get(id)!
        const first = vid - earlier.length
        for (const [i, at] of [...earlier, seq].entries()) yield [kind, id, first + i, at]
      }
  }

  /**
   * Drops the versions up to a position from the cache. Precondition: the key table has them. Builds new maps, because removing entries one
   * by one takes longer.
   */
  forget(upTo: number): void {
    this.size = 0
    for (const [kind, ids] of this.#kinds) this.#kinds.set(kind, this.#newerOf(ids, upTo))
  }

  #newerOf(ids: ReadonlyMap<string, RecentPositions>, upTo: number): Map<string, RecentPositions> {
    const newer = new Map<string, RecentPositions>()
    for (const [id, { vid, seq, earlier }] of ids) {
      if (seq <= upTo) continue
      const left = earlier.length === 0 ? NONE : earlier.filter((at) => at > upTo)
      newer.set(id, { vid, seq, earlier: left })
      this.size += 1 + left.length
    }
    return newer
  }
}

/** Returns the list with one more position. Resources with one recent version, the common case, share the empty list NONE. */
function appended(earlier: number[], seq: number): number[] {
  if (earlier === NONE) return [seq]
  earlier.push(seq)
  return earlier
}

/** Yields the ids in order. Sorts one first character after another, so that no single step takes long. */
function* sorted(ids: Iterable<string>): Generator<string> {
  const byFirst = Map.groupBy(ids, (id) => id[0] ?? '')
  for (const first of [...byFirst.keys()].sort()) yield* byFirst.get(first)!.sort()
}
