/**
 * The file of what the authorization server keeps: clients, users, grants, revocations. Commands of other processes write it beside a server;
 * every commit is on disk when it returns.
 */
import { closeSync, fchownSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Damaged } from '../../ports/damaged.ts'
import { Overloaded } from '../../ports/overloaded.ts'
import { Unavailable } from '../../ports/unavailable.ts'

const SCHEMA_VERSION = 1
/** `FHIG`: marks the file as one of this server. https://www.sqlite.org/pragma.html#pragma_application_id */
const APPLICATION_ID = 0x46484947

/** `number`: of the change an entry came with, from `change`, so that no two are alike. `expires`: null, where it stays. */
const SCHEMA = `
  CREATE TABLE client (name TEXT PRIMARY KEY, number INTEGER NOT NULL, json TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE user (name TEXT PRIMARY KEY, number INTEGER NOT NULL, json TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE grant (
    kind TEXT, key TEXT, number INTEGER NOT NULL, owner TEXT NOT NULL, expires INTEGER, json TEXT NOT NULL,
    PRIMARY KEY (kind, key)) WITHOUT ROWID;
  CREATE INDEX owned ON grant (kind, owner, key) WHERE owner <> '';
  CREATE INDEX expiring ON grant (expires) WHERE expires IS NOT NULL;
  CREATE TABLE revocation (mark TEXT PRIMARY KEY, before INTEGER NOT NULL, until INTEGER NOT NULL) WITHOUT ROWID;
  CREATE INDEX ending ON revocation (until);
  CREATE TABLE change (last INTEGER NOT NULL);
  INSERT INTO change VALUES (0);
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${SCHEMA_VERSION};`

/** A file that is something else, or one of a newer version. */
export class GrantsFileError extends Error {}

/** Milliseconds for which one process waits for the other. */
const PATIENCE = 5_000

/** Makes the file when it is missing, for its owner alone. GrantsFileError where it is something else. */
export function openGrantsFile(file: string): DatabaseSync {
  makePrivate(file)
  const db = new DatabaseSync(file, { timeout: PATIENCE })
  try {
    db.exec('PRAGMA synchronous = FULL; PRAGMA cache_size = -2000')
    if (isNew(db)) make(db)
    check(db, file)
    db.exec('PRAGMA journal_mode = WAL')
    return db
  } catch (error) {
    db.close()
    throw [NOT_A_DATABASE, CORRUPT].includes(codeOf(error))
      ? new GrantsFileError(`${file} is damaged, or is no file of this server`)
      : error
  }
}

/** By one of several that open it at once. */
function make(db: DatabaseSync): void {
  db.exec('BEGIN IMMEDIATE')
  try {
    if (isNew(db)) db.exec(SCHEMA)
    db.exec('COMMIT')
  } catch (error) {
    db.exec('ROLLBACK')
    throw error
  }
}

const isNew = (db: DatabaseSync): boolean => pragma(db, 'application_id') === 0 && pragma(db, 'schema_version') === 0

function check(db: DatabaseSync, file: string): void {
  if (pragma(db, 'application_id') !== APPLICATION_ID) throw new GrantsFileError(`${file} is no file of this server`)
  if (Number(pragma(db, 'user_version')) > SCHEMA_VERSION)
    throw new GrantsFileError(`${file} was written by a newer version of this server`)
}

const pragma = (db: DatabaseSync, name: string): unknown => Object.values(db.prepare(`PRAGMA ${name}`).get()!)[0]

/** SQLite has no setting for the mode of a file, which its logs get as well. What root makes is the folder's owner's, who may run the server. */
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

/** https://www.sqlite.org/rescode.html */
const [BUSY, CORRUPT, FULL, NOT_A_DATABASE] = [5, 11, 13, 26]
/** What a file that may not grow is told, and one in memory beside it. */
const [NOT_WRITTEN, NOT_GROWN] = [778, 4_874]

/** What is more than 255 says more of the code in the lowest byte. */
const codeOf = (error: unknown): number => ((error as { readonly errcode?: number }).errcode ?? 0) & 0xff

/** Overloaded where the other process kept the file, Unavailable where the disk is full, Damaged where it cannot be read, else the error itself. */
export function reasonOf(error: unknown, file: string): unknown {
  const code = codeOf(error)
  if (code === BUSY) return new Overloaded('another process keeps the file of grants', { cause: error })
  if (code === FULL || [NOT_WRITTEN, NOT_GROWN].includes((error as { readonly errcode: number }).errcode))
    return new Unavailable('the disk takes no more of what the authorization server keeps', { cause: error })
  return [CORRUPT, NOT_A_DATABASE].includes(code) ? new Damaged('store', `${file} is damaged`, { cause: error }) : error
}
