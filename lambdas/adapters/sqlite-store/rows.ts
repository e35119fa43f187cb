/** Rows of the version log as versions of the port. */
import type { DatabaseSync } from 'node:sqlite'
import { type DamagedVersion, MAKINGS, type ResourceKey, type ResourceVersion } from '../../ports/resource-store.ts'
import { checksumOf, damaged } from './damage.ts'

/** What a row says of a version whose key is known. */
export type ContentRow = readonly [
  vid: number,
  lastUpdated: number,
  deleted: number,
  compartments: string,
  body: Uint8Array,
  sum: number | null,
  made: number | null,
]

/** COLUMNS in their order. As lists rows take two thirds of the time to make that objects do: statements have `setReturnArrays`. */
export type VersionRow = readonly [seq: number, tenant: string, type: string, id: string, ...content: ContentRow]

/** Of a version: it is not part of a commit that is still being written. */
export const isThere = (alias: string): string => `${alias}.seq < ifnull((SELECT first FROM staged), ${Number.MAX_SAFE_INTEGER})`

/** Columns of a VersionRow from `version v JOIN kind t`. */
export const COLUMNS = 'v.seq, t.tenant, t.type, v.id, v.vid, v.lastUpdated, v.deleted, v.compartments, v.body, v.sum, v.made'

/** Damaged where it is not what was written for that key. */
export function versionWith(key: ResourceKey, row: ContentRow): ResourceVersion {
  const version = versionOrDamage(key, row)
  if ('damage' in version) throw version.damage
  return version
}

/** Whether one that is damaged was deleted nobody knows: its row says it, and cannot be believed. */
export function versionOrDamage(key: ResourceKey, row: ContentRow): ResourceVersion | DamagedVersion {
  if (isSound(key, row)) return unchecked(key, row)
  return { ...key, versionId: row[0], deleted: false, damage: damaged('a version has another checksum than when it was written') }
}

/** For an index, which goes on without what it cannot know: a version that is damaged comes without body and compartments. */
export const versionForIndex = (key: ResourceKey, row: ContentRow): ResourceVersion =>
  isSound(key, row) ? unchecked(key, row) : { ...unchecked(key, row), compartments: [], body: new Uint8Array() }

/** Versions of a store that had no checksums yet have none. */
function isSound({ type, id }: ResourceKey, [versionId, lastUpdated, deleted, compartments, body, sum, made]: ContentRow): boolean {
  return sum === null || sum === checksumOf({ type, id, versionId, lastUpdated, deleted, made, compartments, body })
}

const unchecked = (
  { tenant, type, id }: ResourceKey,
  [versionId, lastUpdated, deleted, compartments, body, , made]: ContentRow,
): ResourceVersion => {
  const making = MAKINGS[made ?? -1]
  return {
    tenant,
    type,
    id,
    versionId,
    lastUpdated,
    deleted: deleted === 1,
    ...(making === undefined ? {} : { made: making }),
    compartments: compartments === '' ? [] : compartments.split(' '),
    body,
  }
}

/** As COLUMNS, without what the version holds, and no checksum of it. */
export const PLACE_COLUMNS = "v.seq, t.tenant, t.type, v.id, v.vid, v.lastUpdated, v.deleted, '', x'', NULL, NULL"

/** `as`: what becomes of a version that is damaged. */
export const versionOf = ([, tenant, type, id, ...content]: VersionRow, as: typeof versionWith = versionWith): ResourceVersion =>
  as({ tenant, type, id }, content)

/** Runs a reading of several statements on one state of the store: it sees no commit that ends meanwhile. */
export function inSnapshot<T>(db: DatabaseSync, read: () => T): T {
  db.exec('BEGIN')
  try {
    return read()
  } finally {
    // Some errors have ended it.
    if (db.isTransaction) db.exec('COMMIT')
  }
}
