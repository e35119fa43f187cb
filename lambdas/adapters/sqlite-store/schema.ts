/**
 * The store's file: an append-only log of versions whose rowid is the change feed, and a map from keys to the log.
 * A version is written once, where it stays; its key moves once, from `recent` to `key`: see recent-keys.ts.
 */
import { closeSync, existsSync, openSync, readSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { Damaged } from '../../ports/faults/damaged.ts'

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
 * Since version 2: the row of `staged`, where there is one, is the position from which on versions are not there yet (staging.ts).
 * Since version 3: `recent` has the keys of a commit, or of several at once, in a row (recent-keys.ts).
 * Since version 4: versions have a checksum (damage.ts); those from before have none, for a column is added without reading the rows.
 * Since version 5: versions tell how they were made, a place in MAKINGS; those from before do not.
 * Since version 6: versions may be packed by a dictionary (bodies/contents.ts); those from before are not.
 */
const LATER = `
  CREATE TABLE IF NOT EXISTS staged (first INTEGER PRIMARY KEY);
  CREATE TABLE IF NOT EXISTS recent (seq INTEGER PRIMARY KEY, keys TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS dictionary (dictionary INTEGER PRIMARY KEY, type TEXT NOT NULL, bytes BLOB NOT NULL, sum INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS dictionary_copy (dictionary INTEGER PRIMARY KEY, type TEXT NOT NULL, bytes BLOB NOT NULL, sum INTEGER NOT NULL);
  PRAGMA user_version = ${SCHEMA_VERSION};`

/** Columns that versions have since a later version than the first. */
const ADDED = [
  { since: 4, column: 'sum INTEGER' },
  { since: 5, column: 'made INTEGER' },
  { since: 6, column: 'dictionary INTEGER' },
] as const

const addedSince = (version: number): string =>
  ADDED.flatMap(({ since, column }) => (version < since ? `ALTER TABLE version ADD COLUMN ${column};` : [])).join(' ')

/** What a commit that was under way left; until version 2 it had keys. */
const UNSTAGE = `
  DELETE FROM key WHERE (kind, id, vid) IN (SELECT kind, id, vid FROM version WHERE seq >= (SELECT first FROM staged));
  DELETE FROM version WHERE seq >= (SELECT first FROM staged);
  DELETE FROM staged;`

/** A file that is no store of this server, is one of a newer version, or is damaged. */
export class StoreFileError extends Error {}

/**
 * Opens the file for writing; makes the tables of a new one, and removes what is left of a commit that was under way: nobody else may be
 * writing. Every commit is on disk when it returns.
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

/** https://www.sqlite.org/fileformat.html#magic_header_string */
const HEADER = Buffer.from('SQLite format 3\0')

/** Of anything else SQLite would read as much as is in a log beside it, and put that into the file when it closes it. */
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

/** `cache`: kB of pages kept; `told`: what errors call the file; `isImmutable`: it has no log, and nobody writes it. https://www.sqlite.org/uri.html */
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

/** From which on a store can be read without what it gets when it is opened for writing. */
const READABLE = 3
/** From which on versions may be packed. */
const PACKED = 6
export const mayHavePackedVersions = (db: DatabaseSync): boolean => Number(pragma(db, 'user_version')) >= PACKED
export const isReadable = (db: DatabaseSync): boolean => Number(pragma(db, 'user_version')) >= READABLE

/** Columns of `version v`, without those that an older store has not yet. */
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

/** What SQLite says of bytes it cannot make sense of. https://www.sqlite.org/rescode.html */
const NOT_A_DATABASE = 26
const CORRUPT = 11

/** StoreFileError for what SQLite cannot make sense of, the error itself otherwise. */
export function toStoreFileError(error: unknown, file: string): unknown {
  if (error instanceof Damaged) return new StoreFileError(`${file} is damaged`, { cause: error })
  const code = ((error as { readonly errcode?: number }).errcode ?? 0) & 0xff
  if (code === NOT_A_DATABASE) return new StoreFileError(`${file} is not a store of this server`)
  return code === CORRUPT ? new StoreFileError(`${file} is damaged`) : error
}

const pragma = (db: DatabaseSync, name: string): unknown => Object.values(db.prepare(`PRAGMA ${name}`).get()!)[0]
