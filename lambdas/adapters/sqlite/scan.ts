/** The versions of a type that were current at an instant, segment by segment. */
import type { DatabaseSync } from 'node:sqlite'
import type { ScanPage, ScanRequest } from '../../ports/resource-store.ts'
import { COLUMNS, type VersionRow, versionOf } from './rows.ts'

/** Rows looked at in one step, so that a sparse segment does not hold the thread. */
const STEP = 2_000

export function scanPage(db: DatabaseSync, { tenant, type, segment, asOf, since = -1, cursor, limit }: ScanRequest): ScanPage {
  const statement = db.prepare(`SELECT ${COLUMNS} FROM kind t JOIN version v ON v.kind = t.kind
    WHERE t.tenant = ?1 AND t.type = ?2 AND v.lastUpdated <= ?3 AND v.lastUpdated > ?4
      AND (v.lastUpdated > ?5 OR (v.lastUpdated = ?5 AND (v.id, v.vid) > (?6, ?7)))  AND v.lastUpdated >= ?5
      AND v.deleted = 0 AND NOT EXISTS (SELECT 1 FROM key n JOIN version w ON w.seq = n.seq
        WHERE n.kind = v.kind AND n.id = v.id AND n.vid = v.vid + 1 AND w.lastUpdated <= ?3)
    ORDER BY v.lastUpdated, v.id, v.vid LIMIT ${STEP}`)
  const [lastUpdated, id, vid] = cursor === undefined ? [-1, '', 0] : (JSON.parse(cursor) as [number, string, number])
  const versions = []
  let seen = 0
  for (const row of statement.iterate(tenant, type, asOf, since, lastUpdated, id, vid) as IterableIterator<unknown>) {
    const version = versionOf(row as VersionRow)
    seen++
    if (segmentOf(version.id, segment.of) === segment.index) versions.push(version)
    if (versions.length === limit || seen === STEP)
      return { versions, cursor: JSON.stringify([version.lastUpdated, version.id, version.versionId]) }
  }
  return { versions }
}

/** FNV-1a of the id: the same in every process. http://www.isthe.com/chongo/tech/comp/fnv/ */
function segmentOf(id: string, of: number): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < id.length; i++) hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193)
  return (hash >>> 0) % of
}
