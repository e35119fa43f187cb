/**
 * Schema of the store's file: an append-only log of versions whose rowid is the position in the change feed, and a map from keys to
 * positions. A version is written once and never moves. Its key moves once, from `recent` to `key` (recent-keys.ts).
 */
import { closeSync, existsSync, openSync, readSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { isFault } from '../../ports/faults.ts'

const SCHEMA_VERSION = 6
/** `FHIR`: marks the file as a store of this server. https://www.sqlite.org/pragma.html#pragma_application_id */
const APPLICATION_ID = 0x46484952

const SCHEMA = `
  CREATE TABLE kind (kind INTEGER PRIMARY KEY, tenant TEXT NOT NULL, type TEXT NOT NULL, UNIQUE (tenant, type));
  CREATE TABLE version (
    seq INTEGER PRIMARY KEY, kind INTEGER NOT NULL, id TEXT NOT NULL, vid INTEGER NOT NULL, lastUpdated INTEGER NOT NULL,
    deleted INTEGER NOT NULL, compartments TEXT NOT NULL, body BLOB NOT NULL, sum INTEGER, made INTEGER, dictionary INTEGER);
  CREATE TABLE key (kind INTEGER, id TEXT, vid INTEGER, seq INTEGER NOT NULL, PRIMARY KEY (kind, id, vid)) WITHOUT ROWID;
  CREATE INDEX history ON version (kind, lastUpdated, id DESC, vid);
  CREATE TABLE guard (tenant TEXT, guard TEXT, type TEXT NOT NULL, id TEXT NOT NULL, bound INTEGER NOT NULL, PRIMARY KEY (tenant, guard)) WITHOUT ROWID;
  PRAGMA application_id = ${APPLICATION_ID};`

/**
 * Additions by schema version:
 * - 2: `staged` has at most one row: the first position that is not committed yet (staging.ts).
 * - 3: `recent` has the keys of one or several commits per row (recent-keys.ts).
 * - 4: versions have a checksum (damage.ts). Older versions have none, because a column is added without reading the rows.
 * - 5: versions have their write kind, an index into WRITE_KINDS. Older versions do not.
 * - 6: versions may be packed with a dictionary (bodies/contents.ts). Older versions are not.
 */
const LATER = `
  CREATE TABLE IF NOT EXISTS staged (first INTEGER PRIMARY KEY);
  CREATE TABLE IF NOT EXISTS recent (seq INTEGER PRIMARY KEY, keys TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS dictionary (dictionary INTEGER PRIMARY KEY, type TEXT NOT NULL, bytes BLOB NOT NULL, sum INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS dictionary_copy (dictionary INTEGER PRIMARY KEY, type TEXT NOT NULL, bytes BLOB NOT NULL, sum INTEGER NOT NULL);
  PRAGMA user_version = ${SCHEMA_VERSION};`

/** Columns that a schema version later than 1 added to the table `version`. */
const ADDED = [
  { since: 4, column: 'sum INTEGER' },
  { since: 5, column: 'made INTEGER' },
  { since: 6, column: 'dictionary INTEGER' },
] as const

const addedSince = (version: number): string =>
  ADDED.flatMap(({ since, column }) => (version < since ? `ALTER TABLE version ADD COLUMN ${column};` : [])).join(' ')

/** Removes the versions of a staged commit that was interrupted. Up to schema version 2, staging also wrote keys. */
const UNSTAGE = `
  DELETE FROM key WHERE (kind, id, vid) IN (SELECT kind, id, vid FROM version WHERE seq >= (SELECT first FROM staged));
  DELETE FROM version WHERE seq >= (SELECT first FROM staged);
  DELETE FROM staged;`

/**
 * Thrown if a file cannot be used as a store, such as a file that is missing, damaged, from a newer version, or not a store of this server.
 */
export class StoreFileError extends Error {}

/**
 * Opens the file for writing. Creates the tables of a new file, upgrades an older schema and removes the versions of an interrupted commit.
 * Precondition: no other process or thread is writing. A commit returns only when it is on disk.
 */
export function openForWriting(file: string): DatabaseSync {
  checkHeader(file)
  const db = new DatabaseSync(file)
  try {
    db.exec('PRAGMA page_size = 8192; PRAGMA synchronous = FULL; PRAGMA cache_size = -16000; PRAGMA busy_timeout = 5000')
    const isNew = pragma(db, 'application_id') === 0 && pragma(db, 'schema_version') === 0
    if (!isNew) checked(db, file)
    db.exec('PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = 67108864')
    const version = Number(pragma(db, 'user_version'))
    const first = isNew ? SCHEMA : addedSince(version)
    if (version !== SCHEMA_VERSION) db.exec(`BEGIN IMMEDIATE; ${first} ${LATER} COMMIT`)
    if (db.prepare('SELECT first FROM staged').get() !== undefined) db.exec(`BEGIN IMMEDIATE; ${UNSTAGE} COMMIT`)
    if (pragma(db, 'synchronous') !== 2) throw new StoreFileError(`${file}: SQLite does not flush its commits`)
    return db
  } catch (error) {
    db.close()
    throw toStoreFileError(error, file)
  }
}

/** First bytes of every SQLite file. https://www.sqlite.org/fileformat.html#magic_header_string */
const HEADER = Buffer.from('SQLite format 3\0')

/**
 * Throws StoreFileError if the file is not empty and not an SQLite file. Must run before SQLite opens it: SQLite would recover a log beside
 * such a file, and write it into the file on close.
 */
function checkHeader(file: string): void {
  if (!existsSync(file)) return
  const opened = openSync(file, 'r')
  try {
    const found = Buffer.alloc(HEADER.length)
    if (readSync(opened, found, 0, found.length, 0) > 0 && !found.equals(HEADER))
      throw new StoreFileError(`${file} is not a store of this server`)
  } finally {
    closeSync(opened)
  }
}

/**
 * Opens the file read-only. `cache`: page cache in kB. `told`: name of the file in messages. `isImmutable`: the file has no log and no
 * writer. https://www.sqlite.org/uri.html
 */
export function openForReading(file: string, { cache = 8_000, told = file, isImmutable = false } = {}): DatabaseSync {
  if (!existsSync(file)) throw new StoreFileError(`${told} does not exist`)
  const db = new DatabaseSync(isImmutable ? new URL('?immutable=1', pathToFileURL(file)) : file, { readOnly: true })
  try {
    db.exec(`PRAGMA cache_size = -${cache}; PRAGMA busy_timeout = 5000`)
    return checked(db, told)
  } catch (error) {
    db.close()
    throw toStoreFileError(error, told)
  }
}

/** Oldest schema version that can be read without the upgrade that opening for writing performs. */
const READABLE = 3
/** Oldest schema version whose versions may be packed. */
const PACKED = 6
export const mayHavePackedVersions = (db: DatabaseSync): boolean => Number(pragma(db, 'user_version')) >= PACKED
export const isReadable = (db: DatabaseSync): boolean => Number(pragma(db, 'user_version')) >= READABLE

/** Returns the columns, with NULL in place of those that the file's older schema lacks. `columns`: columns of `version v`. */
export function columnsIn(db: DatabaseSync, columns: string): string {
  const version = Number(pragma(db, 'user_version'))
  const missing = ADDED.filter(({ since }) => version < since).map(({ column }) => column.split(' ')[0])
  return missing.reduce<string>((left, name) => left.replace(`v.${name}`, 'NULL'), columns)
}

function checked(db: DatabaseSync, file: string): DatabaseSync {
  if (pragma(db, 'application_id') !== APPLICATION_ID) throw new StoreFileError(`${file} is not a store of this server`)
  if (Number(pragma(db, 'user_version')) > SCHEMA_VERSION) throw new StoreFileError(`${file} was written by a newer version of this server`)
  return db
}

/** SQLITE_NOTADB: the file is not an SQLite database. https://www.sqlite.org/rescode.html */
const NOT_A_DATABASE = 26
/** SQLITE_CORRUPT: the file is damaged. */
const CORRUPT = 11

/** Returns StoreFileError if the file is damaged or not a database, otherwise the error itself. */
export function toStoreFileError(error: unknown, file: string): unknown {
  if (isFault(error, 'store-damaged')) return new StoreFileError(`${file} is damaged`, { cause: error })
  const code = ((error as { readonly errcode?: number }).errcode ?? 0) & 0xff
  if (code === NOT_A_DATABASE) return new StoreFileError(`${file} is not a store of this server`)
  return code === CORRUPT ? new StoreFileError(`${file} is damaged`) : error
}

const pragma = (db: DatabaseSync, name: string): unknown => Object.values(db.prepare(`PRAGMA ${name}`).get()!)[0]
