/** The write connection of the store alone: its state equals the content of the file. */
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { expect, it } from '@jest/globals'
import { KeyFilter } from '../../../lambdas/adapters/sqlite-store/keys/key-filter.ts'
import { openForWriting } from '../../../lambdas/adapters/sqlite-store/schema.ts'
import { type Commit, packCommit, unpackCommit } from '../../../lambdas/adapters/sqlite-store/writing/commit-message.ts'
import { commitAll } from '../../../lambdas/adapters/sqlite-store/writing/committer.ts'
import { LogWriter } from '../../../lambdas/adapters/sqlite-store/writing/log-writer.ts'
import { Staging } from '../../../lambdas/adapters/sqlite-store/writing/staging.ts'
import type { UniquenessGuard, Write } from '../../../lambdas/ports/store/resource-store.ts'
import { newFolder } from '../../fixtures/at-end.ts'
import { patientKeyOf, resourceKeyOf, writeOf } from '../../fixtures/versions.ts'

const HOUR = 60 * 60 * 1000
const folder = newFolder()
let files = 0

function newLog(): { readonly db: DatabaseSync; readonly log: LogWriter } {
  const db = openForWriting(join(folder, `${++files}.db`))
  return { db, log: new LogWriter(db, new KeyFilter()) }
}

const commitOf = (writes: readonly Write[], guards: readonly UniquenessGuard[] = [], at = 1): Commit =>
  unpackCommit(packCommit(1, writes, guards, at))

/** A write that no file accepts. */
const impossible = (type: string): Write => writeOf(resourceKeyOf('t', type, 'impossible'), { lastUpdated: null as unknown as number })

it('A type is not mistaken for the next one if its first commit failed', () => {
  const { db, log } = newLog()
  expect(commitAll(log, [commitOf([impossible('Observation')])])).toMatchObject([{ failed: expect.any(String) }])
  for (const type of ['Patient', 'Observation'])
    expect(commitAll(log, [commitOf([writeOf(resourceKeyOf('t', type, 'a'))])])).toEqual([{ number: 1 }])
  expect(db.prepare('SELECT type, id FROM version JOIN kind USING (kind) ORDER BY seq').all()).toMatchObject([
    { type: 'Patient' },
    { type: 'Observation' },
  ])
  db.close()
})

it('A failed commit leaves its positions to the next', () => {
  const { db, log } = newLog()
  log.commit = () => {
    throw new Error('the disk is full')
  }
  expect(commitAll(log, [commitOf([writeOf(patientKeyOf('a'))])])).toMatchObject([{ failed: 'the disk is full' }])
  expect(log.position).toBe(0)
  Reflect.deleteProperty(log, 'commit')
  expect(commitAll(log, [commitOf([writeOf(patientKeyOf('a'))]), commitOf([impossible('Patient')])])).toMatchObject([
    { number: 1 },
    { failed: expect.any(String) },
  ])
  expect([log.position, db.prepare('SELECT max(seq) AS seq FROM version').get()]).toMatchObject([1, { seq: 1 }])
  db.close()
})

it('Commits that pass a large one stop before its first position', () => {
  const { db, log } = newLog()
  const staging = new Staging(log, commitOf([writeOf(patientKeyOf('a'))]))
  const passing = commitOf([writeOf(patientKeyOf('b')), writeOf(patientKeyOf('c'))])
  let [free, taken] = [0, 100_000]
  while (taken - free > 1) {
    const middle = (free + taken) >> 1
    if (staging.holdsUp(passing, middle)) taken = middle
    else free = middle
  }
  while (staging.step() === undefined);
  const { first } = db.prepare('SELECT min(seq) AS first FROM version').get() as { readonly first: number }
  expect(free + passing.writes.length).toBe(first - 1)
  db.close()
})

it('A guard expires an hour after it was bound, by commit time, not by lastUpdated', () => {
  const { db, log } = newLog()
  const guards = [{ tenant: 't', guard: 'g', holder: patientKeyOf('a') }]
  const start = 1_000 * HOUR
  const holders = () => db.prepare('SELECT count(*) AS n FROM guard').get()
  const pass = (at: number, write: Write) => {
    expect(commitAll(log, [commitOf([write], [], at)])).toEqual([{ number: 1 }])
    log.forgetGuards()
  }
  commitAll(log, [commitOf([writeOf(patientKeyOf('a'))], guards, start)])
  log.forgetGuards()
  pass(start + HOUR, writeOf(patientKeyOf('b'), { lastUpdated: start + 10 * HOUR }))
  expect(holders()).toMatchObject({ n: 1 })
  pass(start + HOUR + 61_000, writeOf(patientKeyOf('c')))
  expect(holders()).toMatchObject({ n: 0 })
  db.close()
})
