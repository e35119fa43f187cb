/**
 * History pages from the version log. The history of one resource is read by key. The history of types is merged by lastUpdated from one
 * index range per type.
 */
import type { DatabaseSync } from 'node:sqlite'
import type {
  HistoryPage,
  HistoryPosition,
  HistoryScope,
  HistoryWindow,
  ResourceKey,
  ResourceVersion,
} from '../../../ports/store/resource-store.ts'
import { ContentReader } from '../bodies/contents.ts'
import { requireRow } from '../damage.ts'
import type { RecentKeys } from '../keys/recent-keys.ts'
import { COLUMNS_WITHOUT_CONTENT, VERSION_COLUMNS, type VersionRow, versionOf } from '../rows.ts'
import { type HistoryIndexEntry, HistoryIndexReader, resumeKeyOf } from './places.ts'

/** Bytes of bodies above which a page ends, although it has fewer versions than requested. */
export const MAX_PAGE_BYTES = 16_000_000
/** Number of index entries in the first read of each of several types. It is small, because a system history may cover 150 types. */
const STEP = 16

/**
 * Latest valid time value in milliseconds. A later lastUpdated is damaged and ignored.
 * https://tc39.es/ecma262/#sec-time-values-and-time-range
 */
const LATEST = 8_640_000_000_000_000

type Kind = { readonly kind: number; readonly type: string }

export class HistoryReader {
  readonly #kinds
  readonly #newest
  readonly #stamp
  readonly #head
  readonly #bySeq
  readonly #placeBySeq
  readonly #key
  readonly #recent: RecentKeys
  readonly #contents: ContentReader
  readonly #places: HistoryIndexReader

  constructor(db: DatabaseSync, recent: RecentKeys) {
    this.#recent = recent
    this.#contents = new ContentReader(db)
    this.#places = new HistoryIndexReader(db)
    this.#kinds = db.prepare('SELECT kind, type FROM kind WHERE tenant = ?1 AND (?2 IS NULL OR type = ?2)')
    this.#newest = db.prepare(
      `SELECT max((SELECT max(lastUpdated) FROM version v WHERE v.kind = t.kind AND lastUpdated <= ${LATEST})) AS newest FROM kind t`,
    )
    this.#stamp = db.prepare('SELECT lastUpdated FROM version WHERE seq = ?')
    this.#head = db.prepare('SELECT max(vid) AS vid FROM key WHERE kind = ? AND id = ?')
    this.#key = db.prepare('SELECT seq FROM key WHERE kind = ? AND id = ? AND vid = ?')
    const bySeq = (columns: string) => db.prepare(`SELECT ${columns} FROM version v JOIN kind t ON t.kind = v.kind WHERE v.seq = ?`)
    this.#bySeq = bySeq(VERSION_COLUMNS)
    this.#placeBySeq = bySeq(COLUMNS_WITHOUT_CONTENT)
    for (const statement of [this.#bySeq, this.#placeBySeq]) statement.setReturnArrays(true)
  }

  /** Returns the newest valid lastUpdated of all versions, or 0 if there are none. */
  newest(): number {
    return (this.#newest.get() as { readonly newest: number | null }).newest ?? 0
  }

  page(scope: HistoryScope, window: HistoryWindow, after: HistoryPosition | undefined, limit: number): HistoryPage {
    const kinds = this.#kinds.all(scope.tenant, scope.type ?? null) as unknown as Kind[]
    return pageOf(
      scope.id === undefined ? this.#ofKinds(kinds, window, after, limit) : this.#ofResource(kinds, scope, window, after),
      limit,
      this.#contents,
    )
  }

  /**
   * Yields the versions of one resource in the window, newest first. lastUpdated never falls with the version number, so the window is a
   * range of version numbers.
   */
  *#ofResource(kinds: readonly Kind[], { id }: ResourceKey, window: HistoryWindow, after?: HistoryPosition): Generator<VersionRow> {
    const kind = kinds[0]?.kind
    if (kind === undefined) return
    const head = (this.#recent.head(kind, id) ?? (this.#head.get(kind, id) as { readonly vid: number | null })).vid ?? 0
    const firstFrom = (instant: number) => this.#firstFrom(kind, id, head, instant)
    const { since, before, currentAt } = window
    const low = Math.max(1, since === undefined ? 1 : firstFrom(since), currentAt === undefined ? 1 : firstFrom(currentAt + 1) - 1)
    const high = Math.min(head, before === undefined ? head : firstFrom(before) - 1, (after?.versionId ?? head + 1) - 1)
    for (let vid = high; vid >= low; vid--) yield this.#rowAt(this.#seqOf(kind, id, vid), window)
  }

  #seqOf(kind: number, id: string, vid: number): number {
    return this.#recent.seqOf(kind, id, vid) ?? (requireRow(this.#key.get(kind, id, vid)) as { readonly seq: number }).seq
  }

  #rowAt(seq: number, { placesOnly = false }: HistoryWindow): VersionRow {
    const statement = placesOnly ? this.#placeBySeq : this.#bySeq
    return requireRow(statement.get(seq) as unknown as VersionRow | undefined)
  }

  /**
   * Returns the number of the first version with lastUpdated ≥ `instant`, or `head` + 1 if there is none. `head`: number of the current
   * version.
   */
  #firstFrom(kind: number, id: string, head: number, instant: number): number {
    let [low, high] = [1, head + 1]
    while (low < high) {
      const middle = (low + high) >>> 1
      const { lastUpdated } = requireRow(this.#stamp.get(this.#seqOf(kind, id, middle))) as { readonly lastUpdated: number }
      if (lastUpdated >= instant) high = middle
      else low = middle + 1
    }
    return low
  }

  *#ofKinds(kinds: readonly Kind[], window: HistoryWindow, after: HistoryPosition | undefined, limit: number): Generator<VersionRow> {
    const step = kinds.length === 1 ? limit + 1 : STEP
    const sources = kinds.toSorted(byType).map(({ kind, type }) => {
      const places = this.#places.after(kind, window, after && resumeKeyOf(type, after), step)
      return { places, next: places.next().value }
    })
    for (;;) {
      const first = sources.reduce<HistoryIndexEntry | undefined>(
        (best, { next }) => (next !== undefined && isBefore(next, best) ? next : best),
        undefined,
      )
      if (first === undefined) return
      const source = sources.find(({ next }) => next === first)!
      yield this.#rowAt(first.seq, window)
      source.next = source.places.next().value
    }
  }
}

/** Whether an entry precedes the best one so far. At the same instant the earlier type comes first, because sources are ordered by type. */
const isBefore = (place: HistoryIndexEntry, best: HistoryIndexEntry | undefined): boolean =>
  best === undefined || place.lastUpdated > best.lastUpdated

const byType = (a: Kind, b: Kind): number => (a.type < b.type ? -1 : 1)

function pageOf(rows: Iterable<VersionRow>, limit: number, contents: ContentReader): HistoryPage {
  const versions: ResourceVersion[] = []
  let weight = 0
  for (const row of rows) {
    if (versions.length === limit || weight > MAX_PAGE_BYTES) return { versions, more: true }
    const version = versionOf(row, contents)
    versions.push(version)
    weight += version.body.length
  }
  return { versions, more: false }
}
