/** Rows of the version log as versions of the port. */
import type { DatabaseSync } from 'node:sqlite'
import { Damaged } from '../../ports/faults/damaged.ts'
import { type DamagedVersion, type ResourceKey, type ResourceVersion, WRITE_KINDS } from '../../ports/store/resource-store.ts'
import type { ContentReader, VersionContent } from './bodies/contents.ts'
import { checksumOf, damagedError } from './damage.ts'

/** What a row says of a version whose key is known. */
export type ContentRow = readonly [
  vid: number,
  lastUpdated: number,
  deleted: number,
  compartments: string,
  body: Uint8Array,
  sum: number | null,
  made: number | null,
  dictionary: number | null,
]

/** COLUMNS in their order. As lists rows take two thirds of the time to make that objects do: statements have `setReturnArrays`. */
export type VersionRow = readonly [seq: number, tenant: string, type: string, id: string, ...content: ContentRow]

/** Of a version: it is not part of a commit that is still being written. */
export const committedCondition = (alias: string): string => `${alias}.seq < ifnull((SELECT first FROM staged), ${Number.MAX_SAFE_INTEGER})`

/** Columns of a VersionRow from `version v JOIN kind t`. */
export const VERSION_COLUMNS =
  'v.seq, t.tenant, t.type, v.id, v.vid, v.lastUpdated, v.deleted, v.compartments, v.body, v.sum, v.made, v.dictionary'

/** −1, which is never written, for what no number of JavaScript is: one such row would end a reading of many. */
const within = (column: string): string =>
  `iif(${column} IS NULL OR ${column} BETWEEN ${-Number.MAX_SAFE_INTEGER} AND ${Number.MAX_SAFE_INTEGER}, ${column}, -1)`

/** COLUMNS, whatever numbers stand in them. */
export const RANGE_CHECKED_COLUMNS = VERSION_COLUMNS.replaceAll(/v\.(?:vid|lastUpdated|deleted|sum|made|dictionary)/g, within)

/** Damaged where it is not what was written for that key. */
export function verifiedVersion(key: ResourceKey, row: ContentRow, contents: ContentReader): ResourceVersion {
  const [versionId, lastUpdated, deleted, compartments, body, sum, made, dictionary] = row
  const content = contents.of({ compartments, body, dictionary })
  // Versions of a store that had no checksums yet have none.
  // guard: stored-row-checksum
  if (sum !== null && sum !== checksumOf({ type: key.type, id: key.id, versionId, lastUpdated, deleted, made, ...content }))
    throw damagedError('a version has another checksum than when it was written')
  return unchecked(key, row, content)
}

/** Whether one that is damaged was deleted nobody knows: its row says it, and cannot be believed. */
export function versionOrDamage(key: ResourceKey, row: ContentRow, contents: ContentReader): ResourceVersion | DamagedVersion {
  try {
    return verifiedVersion(key, row, contents)
  } catch (damage) {
    if (!(damage instanceof Damaged)) throw damage
    return { ...key, versionId: row[0], deleted: false, damage }
  }
}

const NOTHING: VersionContent = { compartments: '', body: new Uint8Array() }

/** For an index, which goes on without what it cannot know: a version that is damaged comes without body and compartments. */
export function versionForIndex(key: ResourceKey, row: ContentRow, contents: ContentReader): ResourceVersion {
  const version = versionOrDamage(key, row, contents)
  return 'damage' in version ? unchecked(key, row, NOTHING) : version
}

const unchecked = (
  { tenant, type, id }: ResourceKey,
  [versionId, lastUpdated, deleted, , , , made]: ContentRow,
  { compartments, body }: VersionContent,
): ResourceVersion => {
  const making = WRITE_KINDS[made ?? -1]
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
export const COLUMNS_WITHOUT_CONTENT = "v.seq, t.tenant, t.type, v.id, v.vid, v.lastUpdated, v.deleted, '', x'', NULL, NULL, NULL"

/** `as`: what becomes of a version that is damaged. */
export const versionOf = (
  [, tenant, type, id, ...content]: VersionRow,
  contents: ContentReader,
  as: typeof verifiedVersion = verifiedVersion,
): ResourceVersion => as({ tenant, type, id }, content, contents)

/** Runs a reading of several statements on one state of the store: it sees no commit that ends meanwhile. */
export function runInSnapshot<T>(db: DatabaseSync, read: () => T): T {
  db.exec('BEGIN')
  try {
    return read()
  } finally {
    // Some errors have ended it.
    if (db.isTransaction) db.exec('COMMIT')
  }
}
