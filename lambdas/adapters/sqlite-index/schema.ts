/**
 * The index's file: lists of documents by value, packed (postings.ts, intervals.ts, tuple-lists.ts). A value that stands in several fields of a
 * document (a reference in subject, patient and the compartment) is listed once, under the number of that combination of fields. The file can
 * be made again from the store at any time, so nothing in it is flushed to disk on its own account; the position up to which it follows the
 * store is part of each of its transactions.
 */
import { DatabaseSync } from 'node:sqlite'
import { metresBetween } from '../../ports/search/plan.ts'

/** The field under which a document's compartments stand. */
export const COMPARTMENT_FIELD = '#compartment'
/** The field whose only key is the document's id, without postings of its own. Every document has a value of it. */
export const ID_FIELD = '_id:code'
/** The key of all documents that have values of the same fields. */
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
 * Write-ahead log without flushes of its own: a killed process loses nothing that SQLite was handed, and after a power failure the
 * file is as of some earlier commit, from whose position the index goes on.
 */
export function openIndex(file: string): DatabaseSync {
  const db = new DatabaseSync(file)
  db.exec(`PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -40000; PRAGMA temp_store = MEMORY;
    PRAGMA wal_autocheckpoint = 4000; PRAGMA journal_size_limit = 134217728; ${SCHEMA}`)
  db.function('metres_between', { deterministic: true }, (a, b, c, d) => metresBetween([Number(a), Number(b)], [Number(c), Number(d)]))
  return db
}
