/** The versions of a type that were current at an instant, segment by segment, newest first. */
import type { DatabaseSync } from 'node:sqlite'
import type { ResourceVersion, ScanPage, ScanRequest } from '../../../ports/resource-store.ts'
import { segmentOf } from '../../../ports/segment-of.ts'
import { nextOf } from '../keys/recent-keys.ts'
import { COLUMNS, isThere, type VersionRow, versionOf } from '../rows.ts'
import { PAGE_WEIGHT } from './history.ts'
import { type HistoryPlace, Places } from './places.ts'

/** Index entries looked at for one page, so that a sparse segment does not hold the thread. */
const ENTRIES = 4_000

/** Where a scan goes on, and the end of the log when it began: what came later is not in it. */
type Cursor = readonly [end: number, lastUpdated: number, id: string, vid: number]

/** On a connection that knows recent keys. */
export class Scanner {
  readonly #kind
  readonly #end
  readonly #live
  readonly #places: Places

  constructor(db: DatabaseSync) {
    this.#places = new Places(db)
    this.#kind = db.prepare('SELECT kind FROM kind WHERE tenant = ? AND type = ?')
    this.#end = db.prepare(`SELECT max(v.seq) AS seq FROM version v WHERE ${isThere('v')}`)
    this.#live = db.prepare(`SELECT ${COLUMNS} FROM version v JOIN kind t ON t.kind = v.kind WHERE v.seq = ?1 AND v.deleted = 0
      AND NOT EXISTS (SELECT 1 FROM version w WHERE w.seq = ${nextOf('v')} AND w.seq <= ?2 AND w.lastUpdated <= ?3)`)
    this.#live.setReturnArrays(true)
  }

  page({ tenant, type, segment, asOf, since = -1, cursor, limit }: ScanRequest): ScanPage {
    const kind = (this.#kind.get(tenant, type) as { readonly kind: number } | undefined)?.kind
    if (kind === undefined) return { versions: [] }
    const { end, after } = cursor === undefined ? { end: this.#endOfLog(), after: undefined } : parseCursor(cursor)
    const versions: ResourceVersion[] = []
    let [seen, weight] = [0, 0]
    for (const place of this.#places.after(kind, { since: since + 1, before: asOf + 1 }, after, Math.min(ENTRIES, limit * segment.of))) {
      if (place.seq <= end && segmentOf(place.id, segment.of) === segment.index) {
        const row = this.#live.get(place.seq, end, asOf) as unknown as VersionRow | undefined
        const version = row && versionOf(row)
        if (version !== undefined) versions.push(version)
        weight += version?.body.length ?? 0
      }
      if (versions.length === limit || ++seen === ENTRIES || weight > PAGE_WEIGHT) return { versions, cursor: cursorAt(end, place) }
    }
    return { versions }
  }

  #endOfLog(): number {
    return (this.#end.get() as { readonly seq: number | null }).seq ?? 0
  }
}

const cursorAt = (end: number, { lastUpdated, id, vid }: HistoryPlace): string =>
  JSON.stringify([end, lastUpdated, id, vid] satisfies Cursor)

function parseCursor(text: string): { readonly end: number; readonly after: Omit<HistoryPlace, 'seq'> } {
  const [end, lastUpdated, id, vid] = JSON.parse(text) as Cursor
  return { end, after: { lastUpdated, id, vid } }
}
