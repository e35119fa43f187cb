/** A disk that fails to read once: the failure does not count as damage, and a retry succeeds. */
import { join } from 'node:path'
import { StatementSync } from 'node:sqlite'
import { describe, expect, it, jest } from '@jest/globals'
import { SqliteChangeFeed } from '../../../lambdas/adapters/sqlite-store/change-feed.ts'
import { SqliteResourceReader } from '../../../lambdas/adapters/sqlite-store/resource-reader.ts'
import { SqliteResourceStore } from '../../../lambdas/adapters/sqlite-store/resource-store.ts'
import { versionsAsOf } from '../../../lambdas/export/versions/versions-as-of.ts'
import { newFolder, runAtEnd } from '../../fixtures/at-end.ts'
import { fault } from '../../fixtures/machine-fault.ts'
import { instantAt, patientKeyOf, writeOf } from '../../fixtures/versions.ts'

const file = join(newFolder(), 'store.db')
const store = await SqliteResourceStore.open({ file })
const key = patientKeyOf('a')
await store.commit([writeOf(key, { lastUpdated: instantAt(1) })], [])
await store.commit([writeOf(key, { expected: 1, lastUpdated: instantAt(3) })], [])
await store.close()
const reader = new SqliteResourceReader(file)
const feed = new SqliteChangeFeed(file)
runAtEnd(() => reader.close())
runAtEnd(() => feed.close())

/** https://www.sqlite.org/rescode.html#ioerr_read */
const UNREAD = 266

async function scanned(): Promise<readonly number[]> {
  const ids: number[] = []
  for await (const { versions } of reader.scan({ tenant: 't', type: 'Patient', asOf: instantAt(9), limit: 9, tellsDamaged: true }))
    ids.push(...versions.map(({ versionId }) => versionId))
  return ids
}

const READINGS: readonly (readonly [string, () => Promise<unknown>])[] = [
  ['current', () => reader.current([key])],
  ['heads', () => reader.heads([key])],
  ['heads as of an instant', () => versionsAsOf(reader, [key], instantAt(2))],
  ['versions', () => reader.versions([{ ...key, versionId: 1 }])],
  ['history', () => reader.history(key, {}, undefined, 10)],
  ['scan', scanned],
  ['changes', async () => feed.changes(0, 10)],
  ['tenants of changes', async () => feed.tenantsIn(0, 10)],
  ['changes of a tenant', async () => feed.changesOf({ only: 't' }, 0, 10)],
  ['countAfter', async () => reader.countAfter(0, 't', 10)],
]

describe('A disk that fails to read once', () => {
  it.each(READINGS)('makes %s fail as unavailable at any statement; a retry then succeeds', async (_, read) => {
    const sound = await read()
    let [calls, failing] = [0, 0]
    const spies = (['get', 'iterate'] as const).map((name) => {
      const original = StatementSync.prototype[name] as (...asked: unknown[]) => unknown
      return jest.spyOn(StatementSync.prototype, name).mockImplementation(function (this: StatementSync, ...asked: unknown[]) {
        if (++calls === failing) throw Object.assign(new Error('disk I/O error'), { errcode: UNREAD })
        return original.apply(this, asked) as never
      })
    })
    await read()
    const all = calls
    expect(all).toBeGreaterThan(0)
    for (failing = 1; failing <= all; failing++) {
      calls = 0
      await expect(read()).rejects.toEqual(fault('unavailable'))
      expect(await read()).toEqual(sound)
    }
    for (const spy of spies) spy.mockRestore()
  })
})
