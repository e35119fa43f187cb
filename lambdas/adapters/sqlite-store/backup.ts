/** Copies of a store's file, and whether a file is one. https://www.sqlite.org/backup.html */
import { renameSync, rmSync } from 'node:fs'
import { backup, type DatabaseSync } from 'node:sqlite'
import { damaged } from './damage.ts'
import { RecentKeys } from './keys/recent-keys.ts'
import { COLUMNS, isThere, type VersionRow, versionOf } from './rows.ts'
import { isUpToDate, openForReading, reasonOf, StoreFileError } from './schema.ts'

/** More pages than any file has: one step, on one state of the store, however much is written meanwhile. */
const ALL_PAGES = 0x7fff_ffff

/**
 * A consistent copy of a store, which this or another process may be writing. `to` appears when it is complete and was read from its
 * beginning to its end. StoreFileError where the store is damaged.
 */
export async function backupStoreFile(file: string, to: string): Promise<void> {
  const db = openForReading(file)
  const partial = `${to}.partial`
  try {
    await backup(db, partial, { rate: ALL_PAGES })
    checkStoreFile(partial)
    renameSync(partial, to)
  } catch (error) {
    const reason = reasonOf(error, file)
    throw reason instanceof StoreFileError ? new StoreFileError(`${file} is damaged: no backup was made`, { cause: error }) : reason
  } finally {
    db.close()
    for (const end of ['', '-wal', '-shm']) rmSync(partial + end, { force: true })
  }
}

/** Reads all of it, which takes seconds for a large one. StoreFileError where the file is no store, is one of a newer version, or is damaged. */
export function checkStoreFile(file: string): void {
  const db = openForReading(file)
  try {
    const { integrity_check: found } = db.prepare('PRAGMA integrity_check(1)').get() as { readonly integrity_check: string }
    if (found !== 'ok') throw damaged('its pages do not fit together')
    if (isUpToDate(db)) checkVersions(db)
  } catch (error) {
    throw reasonOf(error, file)
  } finally {
    db.close()
  }
}

/** Each is what was written, and is found by its key. */
function checkVersions(db: DatabaseSync): void {
  const recent = new RecentKeys(db)
  recent.refresh()
  const key = db.prepare('SELECT seq FROM key WHERE kind = ? AND id = ? AND vid = ?')
  const versions = db.prepare(`SELECT v.kind, ${COLUMNS} FROM version v LEFT JOIN kind t ON t.kind = v.kind WHERE ${isThere('v')}`)
  for (const statement of [key, versions]) statement.setReturnArrays(true)
  for (const [kind, ...row] of versions.iterate() as unknown as Iterable<[kind: number, ...VersionRow]>) {
    const [seq] = row
    const { id, versionId } = versionOf(row)
    const at = recent.seqOf(kind, id, versionId) ?? (key.get(kind, id, versionId) as [number] | undefined)?.[0]
    if (at !== seq) throw damaged('the key of a version leads elsewhere')
  }
}
