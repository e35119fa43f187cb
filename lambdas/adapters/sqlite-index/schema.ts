/**
 * Schema of the index file: packed lists of documents by value (postings.ts, intervals.ts, tuple-lists.ts). A value may be in several
 * fields of a document, such as a reference in subject, patient and the compartment. It is listed once, under the number of that
 * combination of fields. The file can be rebuilt from the store at any time, so no transaction flushes it to disk. Each transaction
 * includes the position up to which the index follows the store.
 */
import { DatabaseSync } from 'node:sqlite'
import { metresBetween } from '../../ports/search/plan.ts'

/** Field that has the compartments of a document. */
export const COMPARTMENT_FIELD = '#compartment'
/** Field with the document's id as its only key. It has no postings of its own. Every document has a value in it. */
export const ID_FIELD = '_id:code'
/** Key of all documents that have values in the same fields. */
export const PRESENCE_KEY = ''

export const SCHEMA = `
  CREATE TABLE IF NOT EXISTS field (field INTEGER PRIMARY KEY, kind INTEGER NOT NULL, name TEXT NOT NULL, UNIQUE (kind, name));
  CREATE TABLE IF NOT EXISTS combination (combination INTEGER PRIMARY KEY, kind INTEGER NOT NULL, fields TEXT NOT NULL UNIQUE);
  CREATE TABLE IF NOT EXISTS combined (field INTEGER, combination INTEGER, PRIMARY KEY (field, combination)) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS kind (kind INTEGER PRIMARY KEY, tenant TEXT NOT NULL, type TEXT NOT NULL, UNIQUE (tenant, type));
  CREATE TABLE IF NOT EXISTS document (doc INTEGER PRIMARY KEY, kind INTEGER NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, sorting TEXT NOT NULL, held TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS place (kind INTEGER, id TEXT, doc INTEGER NOT NULL, deleted INTEGER NOT NULL, PRIMARY KEY (kind, id)) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS posting (combination INTEGER, value TEXT, first INTEGER, last INTEGER NOT NULL, n INTEGER NOT NULL, docs BLOB, PRIMARY KEY (combination, value, first)) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS span (field INTEGER, first INTEGER, last INTEGER NOT NULL, n INTEGER NOT NULL, lowest NOT NULL, highest NOT NULL, docs BLOB NOT NULL, bounds BLOB NOT NULL, PRIMARY KEY (field, first)) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS tuples (list INTEGER PRIMARY KEY, combination INTEGER NOT NULL, key TEXT NOT NULL, ranges INTEGER NOT NULL, labels TEXT NOT NULL, UNIQUE (combination, key, ranges, labels));
  CREATE TABLE IF NOT EXISTS point (field INTEGER, latitude, longitude, doc INTEGER, PRIMARY KEY (field, latitude, longitude, doc)) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;`

/**
 * Opens the file with a write-ahead log that commits do not flush. A killed process loses nothing that it passed to SQLite. After a power
 * failure the file may be at an earlier commit, and the index continues from the position stored in it.
 */
export function openIndex(file: string): DatabaseSync {
  const db = new DatabaseSync(file)
  db.exec(`PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -40000; PRAGMA temp_store = MEMORY;
    PRAGMA wal_autocheckpoint = 4000; PRAGMA journal_size_limit = 134217728; ${SCHEMA}`)
  db.function('metres_between', { deterministic: true }, (a, b, c, d) => metresBetween([Number(a), Number(b)], [Number(c), Number(d)]))
  return db
}
