import type { DatabaseSync } from 'node:sqlite'
import { toGrantsFault } from './grants-file.ts'

/** Executes a read and converts errors of SQLite to faults. */
export function runRead<T>(db: DatabaseSync, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw toGrantsFault(error, db.location() ?? '')
  }
}
