import type { DatabaseSync } from 'node:sqlite'
import { reasonOf } from './grants-file.ts'

/** What is read, or what is wrong with the machine. */
export function reading<T>(db: DatabaseSync, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw reasonOf(error, db.location() ?? '')
  }
}
