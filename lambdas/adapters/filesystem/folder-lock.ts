/**
 * Lock on a folder. The operating system holds it for the process and releases it with the process. It is an SQLite file with an open write
 * transaction. The process must not open the file in another way: closing it would release the lock. https://www.sqlite.org/lockingv3.html
 */
import { closeSync, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

/** Maximum wait in milliseconds. On Windows a reader may block the lock for a moment. */
const PATIENCE = 50
/** Result codes of SQLite: https://www.sqlite.org/rescode.html */
const [BUSY, NOT_A_DATABASE, CORRUPT] = [5, 26, 11]

/** References to open databases. Without them, garbage collection would release the locks. */
const held = new Set<DatabaseSync>()

/**
 * Takes the lock and returns a function that releases it, or undefined if another process holds it. Of concurrent calls exactly one
 * succeeds.
 */
export function takeLock(file: string): (() => void) | undefined {
  makePrivate(file)
  const db = new DatabaseSync(file, { timeout: PATIENCE })
  try {
    // A journal on disk would need space there, and recovery after a crash.
    db.exec('PRAGMA journal_mode = MEMORY')
    // EXCLUSIVE would also wait for readers: two processes that request it would block each other, and both would fail.
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

/** Whether the error means that the file is not a lock file. */
export const isNotLockFile = (error: unknown): boolean => [NOT_A_DATABASE, CORRUPT].includes(codeOf(error))

/** Returns the primary result code, which is the lowest byte of an extended code. */
const codeOf = (error: unknown): number => ((error as { readonly errcode?: number }).errcode ?? 0) & 0xff

/** Creates the file as private, because SQLite has no setting for its mode. An existing file is not opened. */
function makePrivate(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}
