/** The file of what the authorization server keeps: clients, users, grants, revocations. Commands of other processes write it beside a server. */
import type { DatabaseSync } from 'node:sqlite'
import { openSqliteFile } from '../sqlite-file/open-file.ts'
import { toFileFault as reasonIn } from '../sqlite-file/sqlite-errors.ts'

/** `FHIG` */
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
  INSERT INTO change VALUES (0)`

const FORMAT = { applicationId: APPLICATION_ID, schemaVersion: 1, schema: SCHEMA }

/** Makes the file when it is missing, for its owner alone. UnusableFileError where it is something else. */
export const openGrantsFile = (file: string): DatabaseSync => openSqliteFile(file, FORMAT)

/** As a fault of the machine, where it is one. */
export const toGrantsFault = (error: unknown, file: string): unknown => reasonIn(error, { file, kept: 'grants' })
