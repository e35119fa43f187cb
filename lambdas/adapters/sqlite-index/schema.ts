/**
 * Schema of the index file: packed lists of documents by value (postings.ts, intervals.ts, tuple-lists.ts). A value may be in several
 * fields of a document, such as a reference in subject, patient and the compartment. It is listed once, under the number of that
 * combination of fields. The file can be rebuilt from the store at any time, so commits do not wait for the disk. The indexer stores its
 * position in the change feed in the same transactions (`setNote`).
 */
import { DatabaseSync } from 'node:sqlite'
import { metresBetween } from '../../ports/search/plan.ts'

/** Name of the field whose keys are the compartments of a document. */
export const COMPARTMENT_FIELD = '#compartment'
/**
 * Name of the field whose only key is the id of a document. Its keys are read from table `place`, not from postings. Every document that is
 * not deleted has it.
 */
export const ID_FIELD = '_id:code'
/**
 * Value of the posting that records in which fields a document has values. It is listed under the combination of the negated numbers of
 * these fields.
 */
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
 * Opens the file with a write-ahead log that commits do not flush. If the process is killed, no committed transaction is lost. After a
 * power failure the file may be at an earlier commit, and the indexer continues from the position stored in it.
 */
export function openIndex(file: string): DatabaseSync {
  const db = new DatabaseSync(file)
  db.exec(`PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -40000; PRAGMA temp_store = MEMORY;
    PRAGMA wal_autocheckpoint = 4000; PRAGMA journal_size_limit = 134217728; ${SCHEMA}`)
  db.function('metres_between', { deterministic: true }, (a, b, c, d) => metresBetween([Number(a), Number(b)], [Number(c), Number(d)]))
  return db
}
