/** Converts rows of the version log to versions of the port. */
import type { DatabaseSync } from 'node:sqlite'
import { isFault } from '../../ports/faults.ts'
import { type DamagedVersion, type ResourceKey, type ResourceVersion, WRITE_KINDS } from '../../ports/store/resource-store.ts'
import type { ContentReader, VersionContent } from './bodies/contents.ts'
import { checksumOf, damagedError } from './damage.ts'

/** Columns of a version without its position and key. */
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

/** Row with VERSION_COLUMNS. Array rows take two thirds of the time of objects, so statements use `setReturnArrays`. */
export type VersionRow = readonly [seq: number, tenant: string, type: string, id: string, ...content: ContentRow]

/** Returns an SQL condition that excludes versions of a commit that staging.ts has not completed. */
export const committedCondition = (alias: string): string => `${alias}.seq < ifnull((SELECT first FROM staged), ${Number.MAX_SAFE_INTEGER})`

/** Columns of a VersionRow from `version v JOIN kind t`. */
export const VERSION_COLUMNS =
  'v.seq, t.tenant, t.type, v.id, v.vid, v.lastUpdated, v.deleted, v.compartments, v.body, v.sum, v.made, v.dictionary'

/**
 * Returns SQL that replaces integers outside JavaScript's safe range by −1, which the server never writes. One such integer would make a
 * read of many rows fail.
 */
const within = (column: string): string =>
  `iif(${column} IS NULL OR ${column} BETWEEN ${-Number.MAX_SAFE_INTEGER} AND ${Number.MAX_SAFE_INTEGER}, ${column}, -1)`

/** VERSION_COLUMNS with integers outside the safe range replaced. */
export const RANGE_CHECKED_COLUMNS = VERSION_COLUMNS.replaceAll(/v\.(?:vid|lastUpdated|deleted|sum|made|dictionary)/g, within)

/** Converts a row. Throws the fault `store-damaged` if the content cannot be unpacked or does not match its checksum. */
export function verifiedVersion(key: ResourceKey, row: ContentRow, contents: ContentReader): ResourceVersion {
  const [versionId, lastUpdated, deleted, compartments, body, sum, made, dictionary] = row
  const content = contents.of({ compartments, body, dictionary })
  // Versions from before schema version 4 have no checksum.
  // guard: stored-row-checksum
  if (sum !== null && sum !== checksumOf({ type: key.type, id: key.id, versionId, lastUpdated, deleted, made, ...content }))
    throw damagedError('a version has another checksum than when it was written')
  return unchecked(key, row, content)
}

/** Converts a row. Returns damage instead of throwing it. `deleted` is then false, because the row cannot be trusted. */
export function versionOrDamage(key: ResourceKey, row: ContentRow, contents: ContentReader): ResourceVersion | DamagedVersion {
  try {
    return verifiedVersion(key, row, contents)
  } catch (damage) {
    if (!isFault(damage, 'store-damaged')) throw damage
    return { ...key, versionId: row[0], deleted: false, damage }
  }
}

const NOTHING: VersionContent = { compartments: '', body: new Uint8Array() }

/** Converts a row for an index, which must not stop at damage. A damaged version has no body and no compartments. */
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

/** Columns of a VersionRow with empty content, and without checksum, write kind and dictionary. */
export const COLUMNS_WITHOUT_CONTENT = "v.seq, t.tenant, t.type, v.id, v.vid, v.lastUpdated, v.deleted, '', x'', NULL, NULL, NULL"

/** Converts a row that includes its key. `as`: decides how damage is handled. */
export const versionOf = (
  [, tenant, type, id, ...content]: VersionRow,
  contents: ContentReader,
  as: typeof verifiedVersion = verifiedVersion,
): ResourceVersion => as({ tenant, type, id }, content, contents)

/** Runs `read` on one snapshot of the store. Commits that complete meanwhile are not visible to it. */
export function runInSnapshot<T>(db: DatabaseSync, read: () => T): T {
  db.exec('BEGIN')
  try {
    return read()
  } finally {
    // After some errors, SQLite has already ended the transaction.
    if (db.isTransaction) db.exec('COMMIT')
  }
}
