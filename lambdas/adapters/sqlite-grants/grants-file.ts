/**
 * File with the data of the authorization server: clients, users, grants and revocations. Commands in other processes may write it while a
 * server runs.
 */
import type { DatabaseSync } from 'node:sqlite'
import { openSqliteFile } from '../sqlite-file/open-file.ts'
import { toFileFault as reasonIn } from '../sqlite-file/sqlite-errors.ts'

/** Application id: the characters `FHIG`. */
const APPLICATION_ID = 0x46484947

/** `number`: unique number of the change that wrote the row, from the table `change`. `expires`: null if the row does not expire. */
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
  INSERT INTO change VALUES (0)`

const FORMAT = { applicationId: APPLICATION_ID, schemaVersion: 1, schema: SCHEMA }

/**
 * Opens the file, or creates it for its owner alone. Throws UnusableFileError if it belongs to another program or a newer version, or is
 * damaged.
 */
export const openGrantsFile = (file: string): DatabaseSync => openSqliteFile(file, FORMAT)

/** Converts an error of SQLite to a fault. Returns any other error unchanged. */
export const toGrantsFault = (error: unknown, file: string): unknown => reasonIn(error, { file, kept: 'grants' })
