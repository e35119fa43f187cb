/**
 * The store's file: an append-only log of versions whose rowid is the change feed, and a map from keys to the log.
 * Nothing ever moves: a version is written once, where it stays.
 */
import { DatabaseSync } from 'node:sqlite'

const SCHEMA_VERSION = 1
/** `FHIR`: marks the file as a store of this server. https://www.sqlite.org/pragma.html#pragma_application_id */
const APPLICATION_ID = 0x46484952

const SCHEMA = `
  CREATE TABLE kind (kind INTEGER PRIMARY KEY, tenant TEXT NOT NULL, type TEXT NOT NULL, UNIQUE (tenant, type));
  CREATE TABLE version (
    seq INTEGER PRIMARY KEY, kind INTEGER NOT NULL, id TEXT NOT NULL, vid INTEGER NOT NULL, lastUpdated INTEGER NOT NULL,
    deleted INTEGER NOT NULL, compartments TEXT NOT NULL, body BLOB NOT NULL);
  CREATE TABLE key (kind INTEGER, id TEXT, vid INTEGER, seq INTEGER NOT NULL, PRIMARY KEY (kind, id, vid)) WITHOUT ROWID;
  CREATE INDEX history ON version (kind, lastUpdated, id, vid);
  CREATE TABLE guard (tenant TEXT, guard TEXT, type TEXT NOT NULL, id TEXT NOT NULL, bound INTEGER NOT NULL, PRIMARY KEY (tenant, guard)) WITHOUT ROWID;
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${SCHEMA_VERSION};`

/** A file that is no store of this server, or one of a newer version. */
export class StoreFileError extends Error {}

/** Opens the file for writing; makes the tables of a new one. Every commit is on disk when it returns. */
export function openForWriting(file: string): DatabaseSync {
  const db = new DatabaseSync(file)
  db.exec(`PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0;
    PRAGMA cache_size = -32000; PRAGMA journal_size_limit = 67108864; PRAGMA busy_timeout = 5000;`)
  if (pragma(db, 'synchronous') !== 2) throw new StoreFileError(`${file}: SQLite does not flush its commits`)
  if (pragma(db, 'application_id') === 0 && pragma(db, 'schema_version') === 0) db.exec(`BEGIN IMMEDIATE; ${SCHEMA} COMMIT`)
  checkStore(db, file)
  return db
}

export function openForReading(file: string): DatabaseSync {
  const db = new DatabaseSync(file, { readOnly: true })
  db.exec('PRAGMA cache_size = -32000; PRAGMA mmap_size = 0; PRAGMA busy_timeout = 5000')
  checkStore(db, file)
  return db
}

/** StoreFileError where the file is no store this program reads. */
function checkStore(db: DatabaseSync, file: string): void {
  if (pragma(db, 'application_id') !== APPLICATION_ID) throw new StoreFileError(`${file} is not a store of this server`)
  if (pragma(db, 'user_version') > SCHEMA_VERSION) throw new StoreFileError(`${file} was written by a newer version of this server`)
}

const pragma = (db: DatabaseSync, name: string): number => Object.values(db.prepare(`PRAGMA ${name}`).get()!)[0] as number
