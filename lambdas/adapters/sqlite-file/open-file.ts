/**
 * Opens a small SQLite file beside the store. Only its owner has access, and an application id marks it. Several processes or threads may
 * write it. Each commit is on disk when it returns.
 */
import { closeSync, fchownSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isDamageError } from './sqlite-errors.ts'

/** `applicationId`: marks the file as one of this server. https://www.sqlite.org/pragma.html#pragma_application_id */
export type FileFormat = { readonly applicationId: number; readonly schemaVersion: number; readonly schema: string }

/** File that is foreign, from a newer version, or damaged. It stays unchanged. The message contains its path. */
export class UnusableFileError extends Error {}

/** Maximum wait for the lock of another process, in milliseconds. */
const PATIENCE = 5_000

/** Opens the file; creates it if missing. Throws UnusableFileError if the file cannot be used. */
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

/** Creates the schema. Only one of several processes that open the file at once does so. */
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

/**
 * Creates the file for its owner alone, because SQLite has no setting for the mode. The logs of the file inherit it. A file that root
 * creates gets the owner of the folder, because the server may run as that user.
 */
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
