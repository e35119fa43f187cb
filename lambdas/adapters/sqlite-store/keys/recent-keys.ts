/**
 * The keys of the newest versions. Ids are random, so that in the table of keys nearly each would change a page of its own. A commit writes
 * its keys down in one row instead, every thread that looks for keys knows them from there, and key-merge.ts takes many at once over into
 * the table, each of whose pages is then written once for several.
 */
import type { DatabaseSync } from 'node:sqlite'
import { damagedError } from '../damage.ts'

export type RecentPositions = {
  readonly vid: number
  readonly seq: number
  /** Positions of the versions before `vid`, as far as they are recent, the last one last. */
  readonly earlier: number[]
}

export type KeyTableRow = readonly [kind: number, id: string, vid: number, seq: number]

/**
 * `[kind, id, vid]` of one version after the other, as JSON; their positions follow each other from that of the row.
 * Row 0 has the position up to which keys were taken over.
 */
export type RecentKeyList = (number | string)[]

/** The position of the version after a version, in SQL, where the table of keys has it. */
export const storedNextPositionSql = (alias: string): string =>
  `(SELECT n.seq FROM key n WHERE n.kind = ${alias}.kind AND n.id = ${alias}.id AND n.vid = ${alias}.vid + 1)`

/** Wherever it is, on a connection that was told of recent keys. */
export const nextPositionSql = (alias: string): string =>
  `ifnull(recent_seq(${alias}.kind, ${alias}.id, ${alias}.vid + 1), ${storedNextPositionSql(alias)})`

/** Recent keys, of which SQL on the connection is told. */
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

/** Knows none before the first refresh. */
export class RecentKeys {
  /** The position up to which everything is known. It may be above all rows: keys were taken over, or staging left positions free. */
  upTo = 0
  /** Versions. */
  size = 0
  readonly #kinds = new Map<number, Map<string, RecentPositions>>()
  readonly #news
  #taken = 0

  constructor(db: DatabaseSync) {
    this.#news = db.prepare('SELECT seq, keys FROM recent WHERE seq = 0 UNION ALL SELECT seq, keys FROM recent WHERE seq > ?')
    this.#news.setReturnArrays(true)
  }

  /** Takes in what was committed since. `acknowledged`: up to there, all is committed. */
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

  /** What is before the position may not be the newest any more. */
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

  /** Takes back what was added last of a resource. */
  takeBack(kind: number, id: string): void {
    const ids = this.#kinds.get(kind)!
    const { vid, earlier } = ids.get(id)!
    const seq = earlier.pop()
    if (seq === undefined) ids.delete(id)
    else ids.set(id, { vid: vid - 1, seq, earlier })
    this.size -= 1
  }

  /** The newest version of a resource, unless it is an old one. */
  head(kind: number, id: string): RecentPositions | undefined {
    return this.#kinds.get(kind)?.get(id)
  }

  /** The position of a version, unless it is an old one. */
  seqOf(kind: number, id: string, vid: number): number | undefined {
    const head = this.head(kind, id)
    if (head === undefined || vid > head.vid) return undefined
    return vid === head.vid ? head.seq : head.earlier.at(vid - head.vid)
  }

  /** All of them, in about the order of the table. What comes meanwhile may be among them. */
  *inOrder(): Generator<KeyTableRow, undefined> {
    for (const [kind, ids] of this.#kinds)
      for (const id of sorted(ids.keys())) {
        const { vid, seq, earlier } = ids.get(id)!
        const first = vid - earlier.length
        for (const [i, at] of [...earlier, seq].entries()) yield [kind, id, first + i, at]
      }
  }

  /** Forgets versions up to a position: the table has them. New maps for what is left: taking out one after the other takes longer. */
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

/** Most resources have one version: theirs share a list. */
function appended(earlier: number[], seq: number): number[] {
  if (earlier === NONE) return [seq]
  earlier.push(seq)
  return earlier
}

/** By and by, so that nobody waits for all of it. */
function* sorted(ids: Iterable<string>): Generator<string> {
  const byFirst = Map.groupBy(ids, (id) => id[0] ?? '')
  for (const first of [...byFirst.keys()].sort()) yield* byFirst.get(first)!.sort()
}
