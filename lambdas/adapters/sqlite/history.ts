/** Histories from the version log: of one resource by its key, of types by the index on lastUpdated, merged. */
import type { DatabaseSync } from 'node:sqlite'
import type { HistoryPage, HistoryPosition, HistoryScope, HistoryWindow, ResourceKey, ResourceVersion } from '../../ports/resource-store.ts'
import { COLUMNS, type VersionRow, versionOf } from './rows.ts'

const FOREVER = Number.MAX_SAFE_INTEGER

/** The version after this one was stamped after the instant, or there is none. */
const NOT_SUPERSEDED = `NOT EXISTS (SELECT 1 FROM key n JOIN version w ON w.seq = n.seq
  WHERE n.kind = v.kind AND n.id = v.id AND n.vid = v.vid + 1 AND w.lastUpdated <= ?)`

type Kind = { readonly kind: number; readonly type: string }

export class HistoryReader {
  readonly #kinds
  readonly #newest
  readonly #ofType
  readonly #ofResource

  constructor(db: DatabaseSync) {
    this.#kinds = db.prepare('SELECT kind, type FROM kind WHERE tenant = ?1 AND (?2 IS NULL OR type = ?2)')
    this.#newest = db.prepare('SELECT max((SELECT max(lastUpdated) FROM version v WHERE v.kind = t.kind)) AS newest FROM kind t')
    this.#ofType = db.prepare(`SELECT ${COLUMNS} FROM version v JOIN kind t ON t.kind = v.kind
      WHERE v.kind = ? AND v.lastUpdated >= ? AND v.lastUpdated <= ? AND (v.lastUpdated < ? OR v.id > ? OR (v.id = ? AND v.vid < ?)) AND ${NOT_SUPERSEDED}
      ORDER BY v.lastUpdated DESC, v.id, v.vid DESC LIMIT ?`)
    this.#ofResource = db.prepare(`SELECT ${COLUMNS} FROM kind t JOIN key k ON k.kind = t.kind JOIN version v ON v.seq = k.seq
      WHERE t.tenant = ? AND t.type = ? AND k.id = ? AND k.vid < ? AND v.lastUpdated >= ? AND v.lastUpdated < ? AND ${NOT_SUPERSEDED}
      ORDER BY k.vid DESC LIMIT ?`)
  }

  newest(): number {
    return (this.#newest.get() as { readonly newest: number | null }).newest ?? 0
  }

  page(scope: HistoryScope, window: HistoryWindow, after: HistoryPosition | undefined, limit: number): HistoryPage {
    const found = scope.id === undefined ? this.#types(scope, window, after, limit + 1) : this.#resource(scope, window, after, limit + 1)
    return { versions: found.slice(0, limit), more: found.length > limit }
  }

  #resource(
    { tenant, type, id }: ResourceKey,
    { since = 0, before = FOREVER, currentAt = -1 }: HistoryWindow,
    after: HistoryPosition | undefined,
    limit: number,
  ): readonly ResourceVersion[] {
    const rows = this.#ofResource.all(
      tenant,
      type,
      id,
      after?.versionId ?? FOREVER,
      since,
      before,
      currentAt,
      limit,
    ) as unknown as VersionRow[]
    return rows.map(versionOf)
  }

  #types(scope: HistoryScope, window: HistoryWindow, after: HistoryPosition | undefined, limit: number): readonly ResourceVersion[] {
    const kinds = this.#kinds.all(scope.tenant, scope.type ?? null) as unknown as Kind[]
    const found = kinds.flatMap((kind) => this.#kind(kind, window, after, limit))
    return kinds.length === 1 ? found : found.sort(newestFirst).slice(0, limit)
  }

  #kind(
    { kind, type }: Kind,
    { since = 0, before = FOREVER, currentAt = -1 }: HistoryWindow,
    after: HistoryPosition | undefined,
    limit: number,
  ): readonly ResourceVersion[] {
    const from = after === undefined ? { upTo: FOREVER, at: FOREVER, id: '', vid: 0 } : resumeIn(type, after)
    const rows = this.#ofType.all(
      kind,
      since,
      Math.min(from.upTo, before - 1),
      from.at,
      from.id,
      from.id,
      from.vid,
      currentAt,
      limit,
    ) as unknown as VersionRow[]
    return rows.map(versionOf)
  }
}

/** Where a type resumes after a position: types before the position's have given all of its instant, types after it none. */
function resumeIn(
  type: string,
  { lastUpdated, type: last, id, versionId }: HistoryPosition,
): { readonly upTo: number; readonly at: number; readonly id: string; readonly vid: number } {
  if (type === last) return { upTo: lastUpdated, at: lastUpdated, id, vid: versionId }
  return type > last ? { upTo: lastUpdated, at: lastUpdated, id: '', vid: 0 } : { upTo: lastUpdated - 1, at: lastUpdated, id: '', vid: 0 }
}

const newestFirst = (a: ResourceVersion, b: ResourceVersion): number =>
  b.lastUpdated - a.lastUpdated || compare(a.type, b.type) || compare(a.id, b.id) || b.versionId - a.versionId

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
