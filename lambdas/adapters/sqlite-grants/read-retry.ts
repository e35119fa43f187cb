import type { DatabaseSync } from 'node:sqlite'
import { toGrantsFault } from './grants-file.ts'

/** Runs a read and converts its errors to machine faults. */
export function runRead<T>(db: DatabaseSync, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw toGrantsFault(error, db.location() ?? '')
  }
}
