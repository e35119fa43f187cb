/** Backups of a store's file, and checks of such files. https://www.sqlite.org/backup.html */
import { renameSync, rmSync, statSync } from 'node:fs'
import { backup, type DatabaseSync } from 'node:sqlite'
import { ALL_PAGES } from '../sqlite-file/backup.ts'
import { ContentReader } from './bodies/contents.ts'
import { checkDictionaries } from './bodies/dictionaries.ts'
import { damagedError } from './damage.ts'
import { RecentKeys } from './keys/recent-keys.ts'
import { committedCondition, VERSION_COLUMNS, type VersionRow, versionOf } from './rows.ts'
import { columnsIn, isReadable, mayHavePackedVersions, openForReading, StoreFileError, toStoreFileError } from './schema.ts'

/**
 * Creates a consistent copy of a store that this or another process may be writing. `to` appears only when the copy is complete and was
 * verified from beginning to end. Throws StoreFileError if the store is damaged, and Error if `to` cannot be written.
 */
export async function backupStoreFile(file: string, to: string): Promise<void> {
  const db = openForReading(file)
  const partial = `${to}.partial`
  try {
    await backup(db, partial, { rate: ALL_PAGES })
    // guard: backup-is-verified
    checkStoreFile(partial)
    renameSync(partial, to)
  } catch (error) {
    if (isUnwritten(error)) throw new Error(`${to} cannot be written: ${(error as Error).message}`, { cause: error })
    const reason = toStoreFileError(error, file)
    throw reason instanceof StoreFileError ? new StoreFileError(`${file} is damaged: no backup was made`, { cause: error }) : reason
  } finally {
    db.close()
    for (const end of ['', '-journal']) rmSync(partial + end, { force: true })
  }
}

/** SQLITE_CANTOPEN: the file of the copy cannot be created. https://www.sqlite.org/rescode.html#cantopen */
const CANNOT_OPEN = 14
/** SQLITE_FULL: the disk of the copy is full. */
const FULL = 13
const isUnwritten = (error: unknown): boolean => [CANNOT_OPEN, FULL].includes((error as { readonly errcode?: number }).errcode ?? 0)

/** Throws StoreFileError if the file does not exist, or if a log beside it is not empty and so may hold versions that the file lacks. */
export function checkIsComplete(file: string): void {
  if (statSync(file, { throwIfNoEntry: false }) === undefined) throw new StoreFileError(`${file} does not exist`)
  if ((statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0)
    throw new StoreFileError(
      `${file} is the store of a data folder, with newer versions in the log beside it: save that folder with fhir backup`,
    )
}

/** Reads only the first page. Throws StoreFileError if the file is not a store of this server, or is from a newer version. */
export function checkIsStore(file: string): void {
  if (!statSync(file).isFile()) throw new StoreFileError(`${file} is not a store of this server`)
  openForReading(file, { isImmutable: true }).close()
}

/**
 * Reads the whole file, which takes seconds for a large one. Writes nothing, neither in the file nor beside it. Throws StoreFileError if
 * the store is incomplete, damaged or from a newer version. `told`: name of the file in messages, except those of `checkIsComplete`.
 */
export function checkStoreFile(file: string, told = file): void {
  checkIsComplete(file)
  const db = openForReading(file, { told, isImmutable: true })
  try {
    const { integrity_check: found } = db.prepare('PRAGMA integrity_check(1)').get() as { readonly integrity_check: string }
    if (found !== 'ok') throw damagedError('its pages do not fit together')
    if (isReadable(db)) checkVersions(db)
    // guard: backup-dictionaries-are-verified
    if (mayHavePackedVersions(db)) checkDictionaries(db)
  } catch (error) {
    throw toStoreFileError(error, told)
  } finally {
    db.close()
  }
}

/** Verifies the checksum of each version that has one, and that its key points to it. Throws the fault `store-damaged` otherwise. */
function checkVersions(db: DatabaseSync): void {
  const contents = new ContentReader(db)
  const recent = new RecentKeys(db)
  recent.refresh()
  const key = db.prepare('SELECT seq FROM key WHERE kind = ? AND id = ? AND vid = ?')
  const versions = db.prepare(
    `SELECT v.kind, ${columnsIn(db, VERSION_COLUMNS)} FROM version v LEFT JOIN kind t ON t.kind = v.kind WHERE ${committedCondition('v')}`,
  )
  for (const statement of [key, versions]) statement.setReturnArrays(true)
  for (const [kind, ...row] of versions.iterate() as unknown as Iterable<[kind: number, ...VersionRow]>) {
    const [seq] = row
    const { id, versionId } = versionOf(row, contents)
    const at = recent.seqOf(kind, id, versionId) ?? (key.get(kind, id, versionId) as [number] | undefined)?.[0]
    if (at !== seq) throw damagedError('the key of a version leads elsewhere')
  }
}
