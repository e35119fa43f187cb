/**
 * Lock on a folder: an SQLite file with an open write transaction. The operating system releases it when the process ends. The process must
 * not open the file in any other way, because closing it would release the lock. https://www.sqlite.org/lockingv3.html
 */
import { closeSync, fchownSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/** Maximum wait for the lock in milliseconds. On Windows a program that reads the file may block it for a moment. */
const PATIENCE = 50
/** Primary result codes of SQLite. https://www.sqlite.org/rescode.html */
const [BUSY, NOT_A_DATABASE, CORRUPT] = [5, 26, 11]

/** Databases with a lock. If they were garbage-collected, they would be closed and the locks released. */
const held = new Set<DatabaseSync>()

/**
 * Takes the lock and returns a function that releases it. Returns undefined if it is already held. Of concurrent calls at most one
 * succeeds.
 */
export function takeLock(file: string): (() => void) | undefined {
  makePrivate(file)
  const db = new DatabaseSync(file, { timeout: PATIENCE })
  try {
    // A journal on disk would need free space, and a recovery after a crash.
    db.exec('PRAGMA journal_mode = MEMORY')
    // Not EXCLUSIVE, which also waits for readers: two processes that request it could block each other, and both would fail.
    db.exec('BEGIN IMMEDIATE')
    // guard: data-folder-lock-is-held
    held.add(db)
    return () => {
      held.delete(db)
      db.close()
    }
  } catch (error) {
    db.close()
    if (codeOf(error) === BUSY) return undefined
    throw error
  }
}

/** Whether SQLite reports that the file is not a database, so it is not a lock file. */
export const isNotLockFile = (error: unknown): boolean => [NOT_A_DATABASE, CORRUPT].includes(codeOf(error))

/** Returns the primary result code, which is the lowest byte of an extended code. */
const codeOf = (error: unknown): number => ((error as { readonly errcode?: number }).errcode ?? 0) & 0xff

/**
 * Creates the file with private access, because SQLite cannot set the mode. If root creates the file, gives it to the owner
 * of the folder, because the server may run as that user. An existing file is not opened: closing it would release a lock of this process.
 */
function makePrivate(file: string): void {
  try {
    const made = openSync(file, 'wx', 0o600)
    const { uid, gid } = statSync(dirname(file))
    if (process.geteuid?.() === 0) fchownSync(made, uid, gid)
    closeSync(made)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}
