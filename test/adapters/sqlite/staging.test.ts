/** Large commits in the SQLite store: written in slices while others pass, and visible all at once. */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { checkStoreFile } from '../../../lambdas/adapters/sqlite-store/backup.ts'
import { SqliteChangeFeed } from '../../../lambdas/adapters/sqlite-store/change-feed.ts'
import { SqliteResourceStore } from '../../../lambdas/adapters/sqlite-store/resource-store.ts'
import type { CommitResult, ResourceVersion, UniquenessGuard, Write } from '../../../lambdas/ports/store/resource-store.ts'
import { newFolder } from '../../fixtures/at-end.ts'
import { readAllVersions, readFirstPage } from '../../fixtures/scans.ts'
import { waitOneTurn } from '../../fixtures/turns.ts'
import { patientKeyOf, resourceKeyOf, writeOf } from '../../fixtures/versions.ts'

/** Number of writes in a large commit. */
const LARGE = 3000
const committed: CommitResult = { kind: 'committed' }

const folder = newFolder()

let files = 0
const newFile = (): string => join(folder, `${++files}.db`)

describe('A large commit in SQLite', () => {
  it('lets later small commits pass', async () => {
    const { store, commit, acknowledged } = await newStore()
    await Promise.all([commit('large', largeOf(0)), ...['a', 'b', 'c'].map((id) => commit(id, [writeOf(patientKeyOf(id))]))])
    expect(acknowledged).toEqual(['a', 'b', 'c', 'large'])
    await store.close()
  })

  it('is visible to no reader before it is complete', async () => {
    const { store, file } = await newStore()
    const feed = new SqliteChangeFeed(file)
    const readings = readingsOf(store, feed)
    const look = () => Promise.all(readings.map((read) => read()))
    await store.commit(largeOf(0).slice(0, LARGE / 2), [])
    const before = await look()
    let isDone = false
    const writing = store.commit(largeOf(1).map(firstHalfExpects(1)), []).finally(() => {
      isDone = true
    })
    const during: { readonly which: number; readonly found: string }[] = []
    while (!isDone) {
      await store.commit([other(`${during.length}`)], [])
      const which = during.length % readings.length
      during.push({ which, found: await readings[which]!() })
      await waitOneTurn()
    }
    expect(await writing).toEqual(committed)
    const after = await look()
    expect(during[0]?.found).toBe(before[0])
    expect(during.filter(({ which, found }) => found !== before[which] && found !== after[which])).toEqual([])
    expect(before.filter((found, n) => found === after[n])).toEqual([])
    feed.close()
    await store.close()
  })

  it('is invisible to every kind of read while it is marked as staged', async () => {
    // One commit first: by then, the writer thread of this store has opened the file and removed staged versions.
    const { store: reader, file } = await newStore()
    await reader.commit([other('first')], [])
    const feed = new SqliteChangeFeed(file)
    const store = await SqliteResourceStore.open({ file })
    await store.commit(largeOf(0).slice(0, 500), [])
    const first = store.lastPosition() + 1
    const look = () => Promise.all(readingsOf(reader, feed).map((read) => read()))
    const before = await look()
    await store.commit(largeOf(1).slice(0, 500), [])
    const db = new DatabaseSync(file)
    db.exec(`INSERT INTO staged VALUES (${first}); CREATE TABLE later AS SELECT * FROM recent WHERE seq >= ${first};
      DELETE FROM recent WHERE seq >= ${first}`)
    expect(await look()).toEqual(before)
    const scan = { tenant: 't', type: 'Patient', asOf: 2, limit: 9000 }
    const begun = await readFirstPage(reader, { ...scan, limit: 100 })
    db.exec('DELETE FROM staged; INSERT INTO recent SELECT * FROM later')
    expect((await look()).filter((found, n) => found === before[n])).toEqual([])
    const rest = await readFirstPage(reader, { ...scan, cursor: begun.cursor! })
    expect([...begun.versions, ...rest.versions].map(({ versionId }) => versionId)).toEqual(Array(500).fill(1))
    db.close()
    feed.close()
    await reader.close()
    await store.close()
  })

  it('is in the change feed in one piece, after the commits that passed it', async () => {
    const { store, file } = await newStore()
    const passing = ['a', 'b', 'c', 'd']
    await Promise.all([store.commit(largeOf(0), []), ...passing.map((id) => store.commit([writeOf(patientKeyOf(id))], []))])
    await store.commit([writeOf(patientKeyOf('after'))], [])
    const feed = new SqliteChangeFeed(file)
    const changes = feed.changes(0, 9000)
    expect(changes.map(({ version }) => version.id)).toEqual([...passing, ...largeOf(0).map(({ id }) => id), 'after'])
    const positions = changes.map(({ position }) => position)
    expect(positions).toEqual([...new Set(positions)].toSorted((a, b) => a - b))
    expect(store.lastPosition()).toBe(positions.at(-1))
    feed.close()
    await store.close()
  })

  it('writes nothing on a conflict, and names the entry', async () => {
    const { store, file } = await newStore()
    await store.commit([writeOf(patientKeyOf('p2345'))], [])
    const result = await store.commit(largeOf(0), [])
    expect(result).toEqual({ kind: 'conflict', index: 2345 })
    expect(await store.commit([writeOf(patientKeyOf('after'))], [])).toEqual(committed)
    await store.close()
    expect(rowsOf(file)).toEqual({ versions: 2, keys: 2, staged: 0 })
  })

  it('writes nothing if a guard is taken, and names it; otherwise binds its guards', async () => {
    const { store } = await newStore()
    const holder = patientKeyOf('holder')
    const guardOf = (guard: string, id = 'holder'): UniquenessGuard => ({ tenant: 't', guard, holder: patientKeyOf(id) })
    await store.commit([writeOf(patientKeyOf('holder'))], [guardOf('taken')])
    const guards = [guardOf('free', 'p0'), guardOf('taken', 'p1')]
    expect(await store.commit(largeOf(0), guards)).toEqual({ kind: 'guarded', index: 1, holder })
    expect(await store.commit([writeOf(patientKeyOf('x'))], [guardOf('free', 'x')])).toEqual(committed)
    expect(await store.commit(largeOf(0), [guardOf('another', 'p0')])).toEqual(committed)
    expect(await store.commit([writeOf(patientKeyOf('y'))], [guardOf('another', 'y')])).toEqual({
      kind: 'guarded',
      index: 0,
      holder: patientKeyOf('p0'),
    })
    await store.close()
  })

  it('delays commits that write the same resources or use the same guards', async () => {
    const { store, commit, acknowledged } = await newStore()
    const guard = { tenant: 't', guard: 'g', holder: patientKeyOf('p0') }
    const large = commit('large', largeOf(0), [guard])
    await commit('passing', [writeOf(patientKeyOf('y'))])
    const [create, update, guarded] = await Promise.all([
      commit('create', [writeOf(patientKeyOf('p7'))]),
      commit('update', [other('o'), writeOf(patientKeyOf('p2999'), { expected: 1 })]),
      commit('guarded', [writeOf(patientKeyOf('x'))], [{ ...guard, holder: patientKeyOf('x') }]),
      commit('passing, too', [writeOf(patientKeyOf('z'))]),
    ])
    expect(await large).toEqual(committed)
    expect(create).toEqual({ kind: 'conflict', index: 0 })
    expect(update).toEqual(committed)
    expect(guarded).toEqual({ kind: 'guarded', index: 0, holder: patientKeyOf('p0') })
    expect(acknowledged.slice(0, 3)).toEqual(['passing', 'passing, too', 'large'])
    await store.close()
  })

  it('waits for the previous one, and closing the store waits for both', async () => {
    const { store, file } = await newStore()
    const asked = [0, 1].map((expected) => store.commit(largeOf(expected), []))
    await store.close()
    expect(await Promise.all(asked)).toEqual([committed, committed])
    expect(rowsOf(file)).toEqual({ versions: 2 * LARGE, keys: 2 * LARGE, staged: 0 })
  })

  it('is complete or absent in a backup made at any time', async () => {
    const { store } = await newStore()
    const writing = store.commit(largeOf(0), [])
    const copies: string[] = []
    for (let n = 0; n < 6; n++) {
      await store.commit([other(`o${n}`)], [])
      copies.push(newFile())
      await store.backup(copies.at(-1)!)
    }
    await writing
    for (const [n, copy] of copies.entries()) {
      checkStoreFile(copy)
      const restored = await SqliteResourceStore.open({ file: copy })
      const heads = (await restored.current(largeOf(0))).filter((head) => head !== undefined).length
      const others = (await restored.history({ tenant: 't', type: 'Basic' }, {}, undefined, 100)).versions.length
      await restored.close()
      expect([0, LARGE]).toContain(heads)
      expect(others).toBeGreaterThan(n)
      expect(rowsOf(copy)).toEqual({ versions: heads + others, keys: heads + others, staged: 0 })
    }
    await store.close()
  })
})

describe('A process killed during a large commit', () => {
  const program = fileURLToPath(new URL('../../fixtures/crash/commit-large-until-killed.ts', import.meta.url))
  const killedAfter = [2, 5, 7, 9]
  const killed = (after: number) => {
    const file = newFile()
    const { stdout, signal } = spawnSync(process.execPath, [program, file, `${after}`], { encoding: 'utf8' })
    for (const end of ['', '-wal']) copyFileSync(file + end, `${file}.copy${end}`)
    return { file, stdout, signal, staged: rowsOf(`${file}.copy`).staged }
  }
  let runs: ReadonlyMap<number, ReturnType<typeof killed>>
  beforeAll(() => {
    runs = new Map(killedAfter.map((after) => [after, killed(after)]))
  })

  for (const after of killedAfter)
    it(`leaves nothing of it, and all that passed it (killed after ${after} that did)`, async () => {
      const { file, stdout, signal } = runs.get(after)!
      expect(signal).toBe('SIGKILL')
      const store = await SqliteResourceStore.open({ file })
      const heads = await store.current([...Array(after).keys()].map((n) => patientKeyOf(`small-${n}`)))
      expect(heads.every((head) => head?.versionId === 1)).toBe(true)
      const { versions } = await store.history({ tenant: 't' }, {}, undefined, 9000)
      const found = versions.filter(({ id }) => id.startsWith('p')).length
      expect(stdout === '' ? [0, 5000] : [5000]).toContain(found)
      expect(rowsOf(file)).toEqual({ versions: versions.length, keys: versions.length, staged: 0 })
      expect(await store.commit(largeOf(found === 0 ? 0 : 1), [])).toEqual(committed)
      await store.close()
    })

  it('dies in the middle of the commit in at least one run', () => {
    expect([...runs.values()].map(({ staged }) => staged)).toContain(1)
  })
})

describe('A store of SQLite of the first version', () => {
  it('opens and accepts large commits', async () => {
    const { store, file } = await newStore()
    await store.commit([writeOf(patientKeyOf('old'))], [])
    await store.close()
    const db = new DatabaseSync(file)
    db.exec(`INSERT INTO key SELECT kind, id, vid, seq FROM version; DROP TABLE recent; DROP TABLE staged;
      ALTER TABLE version DROP COLUMN sum; ALTER TABLE version DROP COLUMN made; ALTER TABLE version DROP COLUMN dictionary; PRAGMA user_version = 1`)
    db.close()
    checkStoreFile(file)
    const again = await SqliteResourceStore.open({ file })
    expect(await again.commit([...largeOf(0), writeOf(patientKeyOf('old'), { expected: 1 })], [])).toEqual(committed)
    expect(await again.current([patientKeyOf('old'), patientKeyOf('p0')])).toMatchObject([{ versionId: 2 }, { versionId: 1 }])
    await again.close()
  })
})

async function newStore() {
  const file = newFile()
  const store = await SqliteResourceStore.open({ file })
  const acknowledged: string[] = []
  const commit = async (name: string, writes: readonly Write[], guards: readonly UniquenessGuard[] = []): Promise<CommitResult> => {
    const result = await store.commit(writes, guards)
    acknowledged.push(name)
    return result
  }
  return { file, store, commit, acknowledged }
}

/** Patients found by each kind of read. */
function readingsOf(store: SqliteResourceStore, feed: SqliteChangeFeed): readonly (() => Promise<string>)[] {
  const keys = largeOf(0)
  const told = (versions: readonly (ResourceVersion | undefined)[]) =>
    digest(versions.filter((found) => found?.type === 'Patient').map((found) => `${found?.id}/${found?.versionId}`))
  const type = { tenant: 't', type: 'Patient' }
  return [
    async () => told(await store.current(keys)),
    async () => told(await store.versions(keys.map((key) => ({ ...key, versionId: 2 })))),
    async () => told((await store.history({ tenant: 't' }, {}, undefined, 9000)).versions),
    async () => told((await store.history(type, { currentAt: 2 }, undefined, 9000)).versions),
    async () => told((await store.history(keys[0]!, {}, undefined, 10)).versions),
    async () => told(await readAllVersions(store, { ...type, asOf: 2, limit: 9000 })),
    async () => told(feed.changes(0, 9000).map(({ version }) => version)),
    async () => `${feed.version({ ...keys[1]!, versionId: 2 })?.versionId}`,
  ]
}

const digest = (found: readonly string[]): string => `${found.length} ${createHash('sha256').update(found.join(' ')).digest('hex')}`

/** All rows, including those that readers do not see. */
function rowsOf(file: string): { readonly versions: number; readonly keys: number; readonly staged: number } {
  const db = new DatabaseSync(file)
  const count = (table: string) => Object.values(db.prepare(`SELECT count(*) FROM ${table}`).get()!)[0] as number
  const recent = db.prepare('SELECT keys FROM recent WHERE seq > 0').all() as { readonly keys: string }[]
  const recentKeys = recent.reduce((sum, { keys }) => sum + (JSON.parse(keys) as unknown[]).length / 3, 0)
  const rows = { versions: count('version'), keys: count('key') + recentKeys, staged: count('staged') }
  db.close()
  return rows
}

const other = (id: string): Write => writeOf(resourceKeyOf('t', 'Basic', id))

const largeOf = (expected: number): readonly Write[] => {
  const body = new Uint8Array(500).fill(expected)
  return [...Array(LARGE).keys()].map((n) => writeOf(patientKeyOf(`p${n}`), { expected, lastUpdated: expected + 1, body }))
}

const firstHalfExpects = (expected: number) => (write: Write, n: number) => ({ ...write, expected: n < LARGE / 2 ? expected : 0 })
