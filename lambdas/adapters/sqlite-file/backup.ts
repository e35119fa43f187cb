/** Backup of a small SQLite file beside the store. https://www.sqlite.org/backup.html */
import { backup, DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { UnusableFileError } from './open-file.ts'
import { isDamageError } from './sqlite-errors.ts'

/** Pages per backup step: more than any file has. The copy is then one snapshot, despite concurrent writes. */
export const ALL_PAGES = 0x7fff_ffff
/** Maximum wait for the lock of another connection, in milliseconds. */
const PATIENCE = 5_000

/**
 * Copies a file that other processes may be writing to `to`, and verifies the copy. Throws UnusableFileError if the file is damaged. The
 * caller removes the copy after an error.
 */
export async function backupSqliteFile(file: string, to: string): Promise<void> {
  const db = new DatabaseSync(file, { readOnly: true, timeout: PATIENCE })
  try {
    await backup(db, to, { rate: ALL_PAGES })
    // guard: backup-of-grants-is-verified
    checkPages(to)
  } catch (error) {
    throw isDamageError(error) || error instanceof UnusableFileError
      ? new UnusableFileError(`${file} is damaged: no backup was made`, { cause: error })
      : error
  } finally {
    db.close()
  }
}

/** Throws UnusableFileError or an error of SQLite if the file is damaged. Writes nothing beside it. */
function checkPages(file: string): void {
  const db = new DatabaseSync(new URL('?immutable=1', pathToFileURL(file)), { readOnly: true })
  try {
    const { integrity_check: found } = db.prepare('PRAGMA integrity_check(1)').get() as { readonly integrity_check: string }
    if (found !== 'ok') throw new UnusableFileError(found)
  } finally {
    db.close()
  }
}
