/** Rows of the version log as versions of the port. */
import type { DatabaseSync } from 'node:sqlite'
import type { ResourceVersion } from '../../ports/resource-store.ts'

/** COLUMNS in their order. As lists rows take two thirds of the time to make that objects do: statements have `setReturnArrays`. */
export type VersionRow = readonly [
  seq: number,
  tenant: string,
  type: string,
  id: string,
  vid: number,
  lastUpdated: number,
  deleted: number,
  compartments: string,
  body: Uint8Array,
]

/** Of a version: it is not part of a commit that is still being written. */
export const isThere = (alias: string): string => `${alias}.seq < ifnull((SELECT first FROM staged), ${Number.MAX_SAFE_INTEGER})`

/** Columns of a VersionRow from `version v JOIN kind t`. */
export const COLUMNS = 'v.seq, t.tenant, t.type, v.id, v.vid, v.lastUpdated, v.deleted, v.compartments, v.body'

export const versionOf = ([, tenant, type, id, vid, lastUpdated, deleted, compartments, body]: VersionRow): ResourceVersion => ({
  tenant,
  type,
  id,
  versionId: vid,
  lastUpdated,
  deleted: deleted === 1,
  compartments: compartments === '' ? [] : compartments.split(' '),
  body,
})

/** Runs a reading of several statements on one state of the store: it sees no commit that ends meanwhile. */
export function inSnapshot<T>(db: DatabaseSync, read: () => T): T {
  db.exec('BEGIN')
  try {
    return read()
  } finally {
    db.exec('COMMIT')
  }
}
