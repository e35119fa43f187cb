/**
 * A small SQLite file beside the store: its owner's alone, marked as what it is, written by several processes or threads, each of whose commits is
 * on disk when it returns.
 */
import { closeSync, fchownSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isDamageError } from './sqlite-errors.ts'

/** `applicationId`: marks the file as one of this server. https://www.sqlite.org/pragma.html#pragma_application_id */
export type FileFormat = { readonly applicationId: number; readonly schemaVersion: number; readonly schema: string }

/** A file that is something else, one of a newer version, or damaged; it stays as it is. The message has its path. */
export class UnusableFileError extends Error {}

/** Milliseconds for which one process waits for the other. */
const PATIENCE = 5_000

/** Makes the file when it is missing. UnusableFileError where it is something else. */
export function openSqliteFile(file: string, format: FileFormat): DatabaseSync {
  makePrivate(file)
  const db = new DatabaseSync(file, { timeout: PATIENCE })
  try {
    db.exec('PRAGMA synchronous = FULL; PRAGMA cache_size = -2000')
    if (isNew(db)) make(db, format)
    check(db, file, format)
    db.exec('PRAGMA journal_mode = WAL')
    return db
  } catch (error) {
    db.close()
    throw isDamageError(error) ? new UnusableFileError(`${file} is damaged, or is no file of this server`) : error
  }
}

/** By one of several that open it at once. */
function make(db: DatabaseSync, { applicationId, schemaVersion, schema }: FileFormat): void {
  db.exec('BEGIN IMMEDIATE')
  try {
    if (isNew(db)) db.exec(`${schema}; PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${schemaVersion}`)
    db.exec('COMMIT')
  } catch (error) {
    db.exec('ROLLBACK')
    throw error
  }
}

const isNew = (db: DatabaseSync): boolean => pragma(db, 'application_id') === 0 && pragma(db, 'schema_version') === 0

function check(db: DatabaseSync, file: string, { applicationId, schemaVersion }: FileFormat): void {
  if (pragma(db, 'application_id') !== applicationId) throw new UnusableFileError(`${file} is no file of this server`)
  if (Number(pragma(db, 'user_version')) > schemaVersion)
    throw new UnusableFileError(`${file} was written by a newer version of this server`)
}

const pragma = (db: DatabaseSync, name: string): unknown => Object.values(db.prepare(`PRAGMA ${name}`).get()!)[0]

/** SQLite has no setting for the mode of a file, which its logs get as well. What root makes is the folder's owner's, who may run the server. */
function makePrivate(file: string): void {
  try {
    // guard: grants-file-is-private
    const made = openSync(file, 'wx', 0o600)
    const { uid, gid } = statSync(dirname(file))
    if (process.geteuid?.() === 0) fchownSync(made, uid, gid)
    closeSync(made)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}
