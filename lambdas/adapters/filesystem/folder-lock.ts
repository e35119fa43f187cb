/**
 * A lock on a folder that the operating system holds for the process, and frees with it: a file of SQLite with a write transaction that stays
 * open. A process never opens the file otherwise: closing it would free the lock. https://www.sqlite.org/lockingv3.html
 */
import { closeSync, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

/** Milliseconds: on Windows a reader may be in the way for a moment. */
const PATIENCE = 50
/** https://www.sqlite.org/rescode.html */
const [BUSY, NOT_A_DATABASE, CORRUPT] = [5, 26, 11]

/** What nobody refers to would be collected, and its lock be gone. */
const held = new Set<DatabaseSync>()

/** Frees the lock; undefined when another holds it. Of any number that ask at once exactly one gets it. */
export function takeLock(file: string): (() => void) | undefined {
  makePrivate(file)
  const db = new DatabaseSync(file, { timeout: PATIENCE })
  try {
    // A journal on disk would need room there, and to be dealt with after a crash.
    db.exec('PRAGMA journal_mode = MEMORY')
    // Not EXCLUSIVE, which waits for readers: two that want it would be in each other's way, and both be refused.
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

/** Whether it was thrown because the file is something else. */
export const isNotLockFile = (error: unknown): boolean => [NOT_A_DATABASE, CORRUPT].includes(codeOf(error))

/** What is more than 255 says more of the code in the lowest byte. */
const codeOf = (error: unknown): number => ((error as { readonly errcode?: number }).errcode ?? 0) & 0xff

/** SQLite has no setting for the mode of a file. One that is there is not opened. */
function makePrivate(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}
