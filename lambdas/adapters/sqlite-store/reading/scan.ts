/** The versions of a type that were current at an instant, newest first. */
import type { DatabaseSync } from 'node:sqlite'
import type { ResourceVersion, ScanExtent, ScanPage, ScanRequest } from '../../../ports/resource-store.ts'
import { nextOf } from '../keys/recent-keys.ts'
import { COLUMNS, isThere, type VersionRow, versionOf } from '../rows.ts'
import { PAGE_WEIGHT } from './history.ts'
import { type HistoryPlace, Places } from './places.ts'

/** Places looked at for one page, so that many versions of one resource do not hold the thread. */
const PLACES = 4_000

/** Where a scan goes on, and the end of the log when it began: what came later is not in it. */
type Cursor = readonly [end: number, lastUpdated: number, id: string, vid: number]

/** On a connection that knows recent keys. */
export class Scanner {
  readonly #kind
  readonly #end
  readonly #current
  readonly #instants
  readonly #places: Places

  constructor(db: DatabaseSync) {
    this.#places = new Places(db)
    this.#kind = db.prepare('SELECT kind FROM kind WHERE tenant = ? AND type = ?')
    this.#end = db.prepare(`SELECT max(v.seq) AS seq FROM version v WHERE ${isThere('v')}`)
    this.#current = db.prepare(`SELECT ${COLUMNS} FROM version v JOIN kind t ON t.kind = v.kind WHERE v.seq = ?1 AND (v.deleted = 0 OR ?4)
      AND NOT EXISTS (SELECT 1 FROM version w WHERE w.seq = ${nextOf('v')} AND w.seq <= ?2 AND w.lastUpdated <= ?3)`)
    this.#current.setReturnArrays(true)
    this.#instants = db.prepare(`SELECT v.lastUpdated FROM version v INDEXED BY history
      WHERE v.kind = ? AND v.lastUpdated BETWEEN ? AND ? AND ${isThere('v')} ORDER BY v.lastUpdated`)
  }

  page({ tenant, type, asOf, since = -1, until = asOf, deletions = false, limit }: ScanRequest, cursor: string | undefined): ScanPage {
    const kind = this.#kindOf(tenant, type)
    if (kind === undefined) return { versions: [] }
    const { end, after } = cursor === undefined ? { end: this.#endOfLog(), after: undefined } : parseCursor(cursor)
    const versions: ResourceVersion[] = []
    let [seen, weight] = [0, 0]
    for (const place of this.#places.after(kind, { since: since + 1, before: Math.min(asOf, until) + 1 }, after, Math.min(PLACES, limit))) {
      if (place.seq <= end) {
        const row = this.#current.get(place.seq, end, asOf, deletions ? 1 : 0) as unknown as VersionRow | undefined
        const version = row && versionOf(row)
        if (version !== undefined) versions.push(version)
        weight += version?.body.length ?? 0
      }
      if (versions.length === limit || ++seen === PLACES || weight > PAGE_WEIGHT) return { versions, cursor: cursorAt(end, place) }
    }
    return { versions }
  }

  extent({ tenant, type, asOf, since = -1, until = asOf }: Omit<ScanRequest, 'cursor' | 'limit'>, every: number): ScanExtent {
    const kind = this.#kindOf(tenant, type)
    const cuts: number[] = []
    let entries = 0
    if (kind === undefined) return { entries, cuts }
    for (const { lastUpdated } of this.#instants.iterate(kind, since + 1, Math.min(asOf, until)) as Iterable<{
      readonly lastUpdated: number
    }>) {
      if (entries > 0 && entries % every === 0 && lastUpdated - 1 > (cuts.at(-1) ?? since)) cuts.push(lastUpdated - 1)
      entries++
    }
    return { entries, cuts }
  }

  #kindOf(tenant: string, type: string): number | undefined {
    return (this.#kind.get(tenant, type) as { readonly kind: number } | undefined)?.kind
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
