import type { DatabaseSync } from 'node:sqlite'
import { toGrantsFault } from './grants-file.ts'

/** What is read, or what is wrong with the machine. */
export function runRead<T>(db: DatabaseSync, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw toGrantsFault(error, db.location() ?? '')
  }
}
