/** Scans the versions of a type that were current at an instant, newest first. */
import type { DatabaseSync } from 'node:sqlite'
import type { DamagedVersion, ResourceVersion, ScanExtent, ScanPage, ScanRequest } from '../../../ports/store/resource-store.ts'
import { ContentReader } from '../bodies/contents.ts'
import { requireRow } from '../damage.ts'
import { type RecentKeys, storedNextPositionSql } from '../keys/recent-keys.ts'
import { committedCondition, versionOrDamage } from '../rows.ts'
import { MAX_PAGE_BYTES } from './history.ts'
import type { HistoryIndexEntry } from './places.ts'

/**
 * Maximum index entries examined per page. Many versions of one resource then do not block the thread, but a page may have fewer versions
 * than requested.
 */
const PLACES = 4_000

/** Position after which a scan continues. */
type Place = Omit<HistoryIndexEntry, 'seq'>
/** Position as JSON. `end`: last position of the log when the scan began. Later versions are excluded. */
type Cursor = readonly [end: number, lastUpdated: number, id: string, vid: number]

/**
 * Entry of the index `history` with its content. `body`: null if the version was written after the scan began, or if the key table shows
 * that it was superseded at the instant.
 */
type PlaceRow = readonly [
  ...place: readonly [lastUpdated: number, id: string, vid: number],
  ...content: readonly [deleted: number, compartments: string, body: Uint8Array | null, sum: number | null, made: number | null],
  dictionary: number | null,
]

/**
 * Returns SQL that reads each entry once together with its content, in index order. It knows only the key table. Recent keys are checked
 * afterwards, because SQL would call a function for every row.
 */
const rowsWhere = (condition: string): string =>
  `SELECT v.lastUpdated, v.id, v.vid, v.deleted, v.compartments, CASE WHEN v.seq <= ?2
     AND NOT EXISTS (SELECT 1 FROM version w WHERE w.seq = ${storedNextPositionSql('v')} AND w.seq <= ?2 AND w.lastUpdated <= ?3) THEN v.body END, v.sum, v.made,
     v.dictionary
   FROM version v INDEXED BY history WHERE v.kind = ?1 AND ${condition} AND ${committedCondition('v')} ORDER BY v.lastUpdated DESC, v.id, v.vid DESC`

export class ScanReader {
  readonly #kind
  readonly #end
  readonly #ofInstant
  readonly #upTo
  readonly #count
  readonly #instant
  readonly #stamp
  readonly #recent: RecentKeys
  readonly #contents: ContentReader

  constructor(db: DatabaseSync, recent: RecentKeys) {
    this.#recent = recent
    this.#contents = new ContentReader(db)
    this.#stamp = db.prepare('SELECT lastUpdated FROM version WHERE seq = ?')
    this.#kind = db.prepare('SELECT kind FROM kind WHERE tenant = ? AND type = ?')
    this.#end = db.prepare(`SELECT max(v.seq) AS seq FROM version v WHERE ${committedCondition('v')}`)
    this.#ofInstant = db.prepare(rowsWhere('v.lastUpdated = ?4 AND v.id >= ?5 AND (v.id > ?5 OR v.vid < ?6)'))
    this.#upTo = db.prepare(rowsWhere('v.lastUpdated >= ?4 AND v.lastUpdated <= ?5'))
    for (const statement of [this.#ofInstant, this.#upTo]) statement.setReturnArrays(true)
    const within = `FROM version v INDEXED BY history WHERE v.kind = ?1 AND v.lastUpdated > ?2 AND v.lastUpdated <= ?3 AND ${committedCondition('v')}`
    this.#count = db.prepare(`SELECT count(*) AS entries ${within}`)
    this.#instant = db.prepare(`SELECT v.lastUpdated ${within} ORDER BY v.lastUpdated LIMIT 1 OFFSET ?4`)
  }

  page(request: ScanRequest, cursor: string | undefined): ScanPage {
    const { tenant, type, limit, deletions = false, tellsDamaged = false } = request
    const kind = this.#kindOf(tenant, type)
    if (kind === undefined) return { versions: [] }
    const { end, after } = cursor === undefined ? { end: this.#endOfLog(), after: undefined } : parseCursor(cursor)
    const versions: ResourceVersion[] = []
    const damaged: DamagedVersion[] = []
    const found = (): ScanPage => (damaged.length === 0 ? { versions } : { versions, damaged })
    let [seen, weight] = [0, 0]
    for (const rows of this.#after(kind, request, end, after))
      for (const [lastUpdated, id, vid, deleted, compartments, body, sum, made, dictionary] of rows) {
        if (body !== null && !this.#isSuperseded(kind, id, vid, end, request.asOf)) {
          const version = versionOrDamage(
            { tenant, type, id },
            [vid, lastUpdated, deleted, compartments, body, sum, made, dictionary],
            this.#contents,
          )
          weight += ('damage' in version ? body : version.body).length
          if ('damage' in version) damaged.push(told(version, tellsDamaged))
          else if (!version.deleted || deletions) versions.push(version)
        }
        if (versions.length + damaged.length === limit || ++seen === PLACES || weight > MAX_PAGE_BYTES)
          return { ...found(), cursor: JSON.stringify([end, lastUpdated, id, vid] satisfies Cursor) }
      }
    return found()
  }

  /** Whether the recent keys have a next version that was written before the scan began and existed at the instant. */
  #isSuperseded(kind: number, id: string, vid: number, end: number, asOf: number): boolean {
    const next = this.#recent.seqOf(kind, id, vid + 1)
    if (next === undefined || next > end) return false
    return (requireRow(this.#stamp.get(next)) as { readonly lastUpdated: number }).lastUpdated <= asOf
  }

  *#after(
    kind: number,
    { asOf, since = -1, until = asOf }: ScanRequest,
    end: number,
    after: Place | undefined,
  ): Generator<Iterable<PlaceRow>, undefined> {
    const which = [kind, end, asOf] as const
    if (after !== undefined)
      yield this.#ofInstant.iterate(...which, after.lastUpdated, after.id, after.vid) as unknown as Iterable<PlaceRow>
    const newest = Math.min(until, after === undefined ? asOf : after.lastUpdated - 1)
    yield this.#upTo.iterate(...which, since + 1, newest) as unknown as Iterable<PlaceRow>
  }

  extent({ tenant, type, asOf, since = -1, until = asOf }: Omit<ScanRequest, 'cursor' | 'limit'>, every: number): ScanExtent {
    const kind = this.#kindOf(tenant, type)
    const cuts: number[] = []
    if (kind === undefined) return { entries: 0, cuts }
    const window = [since, Math.min(asOf, until)] as const
    const { entries } = this.#count.get(kind, ...window) as { readonly entries: number }
    for (let after = since; ; ) {
      const next = this.#instant.get(kind, after, window[1], every) as { readonly lastUpdated: number } | undefined
      if (next === undefined) return { entries, cuts }
      // All versions of one instant stay in one part.
      after = Math.max(next.lastUpdated - 1, after + 1)
      if (after < window[1]) cuts.push(after)
    }
  }

  #kindOf(tenant: string, type: string): number | undefined {
    return (this.#kind.get(tenant, type) as { readonly kind: number } | undefined)?.kind
  }

  #endOfLog(): number {
    return (this.#end.get() as { readonly seq: number | null }).seq ?? 0
  }
}

function told(version: DamagedVersion, isAsked: boolean): DamagedVersion {
  if (!isAsked) throw version.damage
  return version
}

function parseCursor(text: string): { readonly end: number; readonly after: Place } {
  const [end, lastUpdated, id, vid] = JSON.parse(text) as Cursor
  return { end, after: { lastUpdated, id, vid } }
}
