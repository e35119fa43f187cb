/**
 * Opens a small SQLite file beside the store. Only its owner has access. An application id identifies it as a file of this server. Several
 * processes and threads may write it. Each commit is on disk when it returns.
 */
import { closeSync, fchownSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isDamageError } from './sqlite-errors.ts'

/** `applicationId`: id in the file header that identifies files of this server. https://www.sqlite.org/pragma.html#pragma_application_id */
export type FileFormat = { readonly applicationId: number; readonly schemaVersion: number; readonly schema: string }

/** File that belongs to another program or a newer version, or is damaged. It is not changed. The message contains its path. */
export class UnusableFileError extends Error {}

/** Maximum wait for the lock of another connection, in milliseconds. */
const PATIENCE = 5_000

/** Opens the file, or creates it. Throws UnusableFileError if it belongs to another program or a newer version, or is damaged. */
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

/** Creates the schema, unless another process that opened the file at the same time has created it. */
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
 * Creates the file for its owner alone, because SQLite cannot set the mode. SQLite gives its WAL files the same mode. If root creates the
 * file, the owner of the folder becomes its owner, because the server may run as that user.
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
