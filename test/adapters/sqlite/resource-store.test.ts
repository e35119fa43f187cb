/** The SQLite resource store: the contract, and cases specific to a file. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from '@jest/globals'
import { backupStoreFile, checkStoreFile } from '../../../lambdas/adapters/sqlite-store/backup.ts'
import { SqliteChangeFeed } from '../../../lambdas/adapters/sqlite-store/change-feed.ts'
import { KeyFilter } from '../../../lambdas/adapters/sqlite-store/keys/key-filter.ts'
import { SqliteResourceStore } from '../../../lambdas/adapters/sqlite-store/resource-store.ts'
import { StoreFileError } from '../../../lambdas/adapters/sqlite-store/schema.ts'
import { CommitWriter } from '../../../lambdas/adapters/sqlite-store/writing/writer.ts'
import type { Change, FeedTenants } from '../../../lambdas/ports/store/change-feed.ts'
import { storedTenantsContract } from '../../contracts/known-tenants.contract.ts'
import { resourceStoreContract } from '../../contracts/resource-store.contract.ts'
import { settledVersionsContract } from '../../contracts/settled-versions.contract.ts'
import { newFolder } from '../../fixtures/at-end.ts'
import { damageBody } from '../../fixtures/damaged-body.ts'
import { TestClock } from '../../fixtures/dynamodb/store.ts'
import { fault } from '../../fixtures/machine-fault.ts'
import { readFirstPage } from '../../fixtures/scans.ts'
import { waitOneTurn } from '../../fixtures/turns.ts'
import { writesOf } from '../../fixtures/versions.ts'

const folder = newFolder()

let files = 0
const newFile = (): string => join(folder, `${++files}.db`)

resourceStoreContract('SQLite', async () => {
  const file = newFile()
  const store = await SqliteResourceStore.open({ file })
  return { reader: store, writer: store, close: () => store.close(), damage: async (key) => damageBody(file, key) }
})

storedTenantsContract('SQLite', async () => {
  const file = newFile()
  const stores: SqliteResourceStore[] = []
  const another = async () => {
    stores.push(await SqliteResourceStore.open({ file }))
    return stores.at(-1)!
  }
  const close = async () => {
    for (const store of stores) await store.close()
  }
  return { store: await another(), another, close }
})

settledVersionsContract('SQLite', async () => {
  const clock = new TestClock()
  const store = await SqliteResourceStore.open({ file: newFile() })
  const pass = async (time: number) => {
    clock.ahead += time
    await waitOneTurn()
  }
  return { store, clock, pass, close: () => store.close() }
})

it('The tenants of a SQLite store are looked up in an index, one by one', () => {
  const db = new DatabaseSync(newFile())
  db.exec('CREATE TABLE kind (kind INTEGER PRIMARY KEY, tenant TEXT NOT NULL, type TEXT NOT NULL, UNIQUE (tenant, type))')
  const plan = db.prepare('EXPLAIN QUERY PLAN SELECT min(tenant) AS tenant FROM kind WHERE tenant > ?').all('')
  expect(plan.map(({ detail }) => detail)).toEqual([expect.stringMatching(/^SEARCH kind USING COVERING INDEX/)])
  db.close()
})

describe('A read of several resources in SQLite', () => {
  it('sees one state, without parts of concurrent commits', async () => {
    const store = await SqliteResourceStore.open({ file: newFile() })
    const ids = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
    const writer = (async () => {
      for (let expected = 0; expected < 150; expected++) await store.commit(writesOf(ids, expected), [])
    })()
    const torn: unknown[] = []
    let seen = 0
    for (let isDone = false; !isDone; await waitOneTurn()) {
      const heads = await store.current(ids.map((id) => ({ tenant: 't', type: 'Patient', id })))
      const numbers = new Set(heads.map((head) => head?.versionId ?? 0))
      if (numbers.size > 1) torn.push(numbers)
      seen = Math.max(seen, ...numbers)
      isDone = seen === 150
    }
    await writer
    expect(torn).toEqual([])
    await store.close()
  })

  it('returns each resource of a scan once, even if late commits carry earlier instants', async () => {
    const store = await SqliteResourceStore.open({ file: newFile() })
    const ids = [...Array(20).keys()].map((n) => `p${n}`)
    await store.commit(writesOf(ids, 0), [])
    const found: string[] = []
    for (let cursor: string | undefined, round = 1; round === 1 || cursor !== undefined; round++) {
      const from = cursor === undefined ? {} : { cursor }
      const page = await readFirstPage(store, { tenant: 't', type: 'Patient', asOf: 1000, limit: 3, ...from })
      found.push(...page.versions.map(({ id, versionId }) => `${id}/${versionId}`))
      cursor = page.cursor
      await store.commit(writesOf(ids, round), [])
    }
    expect(found.toSorted()).toEqual(ids.map((id) => `${id}/1`).toSorted())
    await store.close()
  })
})

describe('A page in SQLite', () => {
  it('in a scan excludes later commits, so that no resource is in two pages', async () => {
    const store = await SqliteResourceStore.open({ file: newFile() })
    const [early] = writesOf(['early'], 0)
    await store.commit([early!, ...writesOf(['a', 'b', 'c'], 0).map((write) => ({ ...write, lastUpdated: 100 }))], [])
    const request = { tenant: 't', type: 'Patient', asOf: 1000, limit: 2 }
    const first = await readFirstPage(store, request)
    // Clocks may go back.
    await store.commit([{ ...early!, expected: 1, lastUpdated: 2 }, ...writesOf(['late'], 0)], [])
    const rest = await readFirstPage(store, { ...request, limit: 10, cursor: first.cursor! })
    expect([...first.versions, ...rest.versions].map(({ id, versionId }) => `${id}/${versionId}`)).toEqual(['a/1', 'b/1', 'c/1', 'early/1'])
    await store.close()
  })

  it('in a history ends early if its versions are large, and the next continues', async () => {
    const store = await SqliteResourceStore.open({ file: newFile() })
    const large = writesOf(['a', 'b', 'c', 'd'], 0, new Uint8Array(6_000_000))
    for (const write of large) await store.commit([write], [])
    const scope = { tenant: 't', type: 'Patient' }
    const { versions, more } = await store.history(scope, {}, undefined, 10)
    expect([versions.map(({ id }) => id), more]).toEqual([['a', 'b', 'c'], true])
    const next = await store.history(scope, {}, versions.at(-1), 10)
    expect([next.versions.map(({ id }) => id), next.more]).toEqual([['d'], false])
    await store.close()
  })
})

describe('The change feed of SQLite', () => {
  it('returns versions in commit order, each commit in one piece, from any position', async () => {
    const file = newFile()
    const store = await SqliteResourceStore.open({ file })
    await Promise.all([...Array(30).keys()].map((n) => store.commit(writesOf([`a${n}`, `b${n}`, `c${n}`], 0), [])))
    const feed = new SqliteChangeFeed(file)
    const all: Change[] = []
    for (let page = feed.changes(0, 7); page.length > 0; page = feed.changes(all.at(-1)!.position, 7)) all.push(...page)
    expect(all.map(({ position }) => position)).toEqual([...Array(90).keys()].map((n) => n + 1))
    const groups = [...Array(30).keys()].map((n) => all.slice(n * 3, n * 3 + 3).map(({ version }) => version.id.slice(1)))
    expect(groups.every(([first, ...rest]) => rest.every((id) => id === first))).toBe(true)
    expect(store.lastPosition()).toBe(90)
    await store.commit(writesOf(['later'], 0), [])
    expect(feed.changes(90, 10).map(({ version }) => version.id)).toEqual(['later'])
    feed.close()
    await store.close()
  })

  it('returns the versions of one tenant, or of all others, and reaches the end', async () => {
    const file = newFile()
    const store = await SqliteResourceStore.open({ file })
    const written = [...Array(40).keys()].map((n) => ({ ...writesOf([`${n}`], 0)[0]!, tenant: ['a', 'b', 'c'][n % 3]! }))
    for (const write of written) await store.commit([write], [])
    const feed = new SqliteChangeFeed(file)
    const allOf = (tenants: FeedTenants): readonly string[] => {
      const all: string[] = []
      for (let at = 0; at < 40; ) {
        const { changes, upTo } = feed.changesOf(tenants, at, 4)
        expect(upTo).toBeGreaterThan(at)
        expect(changes.every(({ position }) => position > at && position <= upTo)).toBe(true)
        all.push(...changes.map(({ version }) => version.id))
        at = upTo
      }
      return all
    }
    const idsOf = (isOf: (tenant: string) => boolean) => written.filter(({ tenant }) => isOf(tenant)).map(({ id }) => id)
    expect(allOf({ only: 'b' })).toEqual(idsOf((tenant) => tenant === 'b'))
    expect(allOf({ only: 'nobody' })).toEqual([])
    expect(allOf({ except: ['a', 'c'] })).toEqual(idsOf((tenant) => tenant === 'b'))
    expect(allOf({ except: [] })).toEqual(idsOf(() => true))
    expect(feed.changesOf({ only: 'a' }, 40, 4)).toEqual({ changes: [], upTo: 40 })
    expect([feed.hasOthersThan('a'), feed.hasOthersThan('nobody')]).toEqual([true, true])
    expect([feed.tenantsIn(0, 40), feed.tenantsIn(1, 3), feed.tenantsIn(3, 3)].map((all) => all.toSorted().join(''))).toEqual([
      'abc',
      'bc',
      '',
    ])
    feed.close()
    await store.close()
  })

  it('has no other tenant if one tenant wrote all versions', async () => {
    const file = newFile()
    const store = await SqliteResourceStore.open({ file })
    await store.commit(writesOf(['a', 'b'], 0), [])
    const feed = new SqliteChangeFeed(file)
    expect([feed.hasOthersThan('t'), feed.hasOthersThan('u')]).toEqual([false, true])
    feed.close()
    await store.close()
  })

  it('returns few versions at once if they are large', async () => {
    const file = newFile()
    const store = await SqliteResourceStore.open({ file })
    await store.commit(writesOf(['a', 'b', 'c', 'd', 'e', 'f'], 0, new Uint8Array(400_000)), [])
    const feed = new SqliteChangeFeed(file)
    expect(feed.changes(0, 10)).toHaveLength(2)
    expect(feed.changes(5, 10)).toHaveLength(1)
    feed.close()
    await store.close()
  })
})

describe('A reopened store of SQLite', () => {
  it('has its versions, guards, last position and newest instant', async () => {
    const file = newFile()
    const first = await SqliteResourceStore.open({ file })
    expect([first.lastPosition(), first.newest()]).toEqual([0, 0])
    const holder = { tenant: 't', type: 'Patient', id: 'a' }
    await first.commit(writesOf(['a', 'b'], 0), [{ tenant: 't', guard: 'g', holder }])
    await first.commit(writesOf(['a'], 1), [])
    await first.close()
    const second = await SqliteResourceStore.open({ file })
    expect([second.lastPosition(), second.newest()]).toEqual([3, 2])
    expect(await second.current([holder])).toMatchObject([{ versionId: 2 }])
    const other = await second.commit(writesOf(['c'], 0), [{ tenant: 't', guard: 'g', holder: { ...holder, id: 'c' } }])
    expect(other).toEqual({ kind: 'guarded', index: 0, holder })
    await second.close()
  })

  it('was closed only after its pending commits, and then rejects new ones', async () => {
    const store = await SqliteResourceStore.open({ file: newFile() })
    const asked = [...Array(50).keys()].map((n) => store.commit(writesOf([`p${n}`], 0), []))
    await store.close()
    expect(await Promise.all(asked)).toEqual(asked.map(() => ({ kind: 'committed' })))
    await expect(store.commit(writesOf(['late'], 0), [])).rejects.toThrow('closed')
    await store.close()
  })
})

describe('A store of SQLite from before checksums', () => {
  it('serves earlier versions unchecked, and checks later ones', async () => {
    const file = newFile()
    const first = await SqliteResourceStore.open({ file })
    await first.commit(writesOf(['a', 'b'], 0), [])
    await first.close()
    const db = new DatabaseSync(file)
    db.exec(
      'ALTER TABLE version DROP COLUMN sum; ALTER TABLE version DROP COLUMN made; ALTER TABLE version DROP COLUMN dictionary; PRAGMA user_version = 3',
    )
    db.close()
    checkStoreFile(file)
    await backupStoreFile(file, `${file}.backup`)
    const store = await SqliteResourceStore.open({ file })
    await store.commit(writesOf(['a'], 1), [])
    const key = { tenant: 't', type: 'Patient', id: 'a' }
    for (const versionId of [1, 2]) damageBody(file, { ...key, versionId })
    expect(await store.versions([{ ...key, versionId: 1 }])).toMatchObject([{ versionId: 1 }])
    await expect(store.versions([{ ...key, versionId: 2 }])).rejects.toThrow(fault('store-damaged'))
    await store.close()
  })
})

describe('A store of SQLite from before write kinds were stored', () => {
  it('serves and checks earlier versions, and stores the write kind of later ones', async () => {
    const file = newFile()
    const first = await SqliteResourceStore.open({ file })
    const [a, b] = writesOf(['a', 'b'], 0)
    await first.commit([a!, b!], [])
    await first.close()
    const db = new DatabaseSync(file)
    db.exec('ALTER TABLE version DROP COLUMN made; ALTER TABLE version DROP COLUMN dictionary; PRAGMA user_version = 4')
    db.close()
    checkStoreFile(file)
    await backupStoreFile(file, `${file}.backup`)
    const store = await SqliteResourceStore.open({ file })
    const [next] = writesOf(['a'], 1)
    await store.commit([{ ...next!, made: 'patch' }], [])
    const { versions } = await store.history(a!, {}, undefined, 10)
    expect(versions.map(({ made }) => made)).toEqual(['patch', undefined])
    damageBody(file, { ...b!, versionId: 1 })
    await expect(store.current([b!])).rejects.toThrow(fault('store-damaged'))
    await store.close()
  })
})

describe('A file that is no store', () => {
  it('is rejected and left unchanged', async () => {
    const text = newFile()
    writeFileSync(text, 'Dear diary, '.repeat(1000))
    const other = newFile()
    const db = new DatabaseSync(other)
    db.exec('CREATE TABLE invoice (total)')
    db.close()
    for (const file of [text, other]) {
      const before = readFileSync(file)
      await expect(SqliteResourceStore.open({ file })).rejects.toThrow(StoreFileError)
      expect(() => checkStoreFile(file)).toThrow(StoreFileError)
      expect(readFileSync(file).equals(before)).toBe(true)
    }
  })

  it('is rejected with the reason if a newer server version wrote it', async () => {
    const file = newFile()
    await (await SqliteResourceStore.open({ file })).close()
    const db = new DatabaseSync(file)
    db.exec('PRAGMA user_version = 1000')
    db.close()
    await expect(SqliteResourceStore.open({ file })).rejects.toThrow('newer version')
  })

  it('is an error if its folder does not exist', async () => {
    await expect(SqliteResourceStore.open({ file: join(folder, 'nowhere', 'store.db') })).rejects.toThrow()
    expect(() => checkStoreFile(join(folder, 'nowhere', 'store.db'))).toThrow('does not exist')
  })
})

describe('A backup of SQLite', () => {
  it('is one consistent state of a store under writes, and a store itself', async () => {
    const [file, copy] = [newFile(), newFile()]
    const store = await SqliteResourceStore.open({ file })
    for (let expected = 0; expected < 20; expected++) await store.commit(writesOf(['a', 'b'], expected, new Uint8Array(20_000)), [])
    let last = 20
    let isDone = false
    const writer = (async () => {
      while (!isDone) await store.commit(writesOf(['a', 'b'], last++, new Uint8Array(20_000)), [])
    })()
    await store.backup(copy)
    await backupStoreFile(file, `${copy}.again`)
    isDone = true
    await writer
    for (const made of [copy, `${copy}.again`]) {
      checkStoreFile(made)
      const restored = await SqliteResourceStore.open({ file: made })
      const heads = await restored.current(writesOf(['a', 'b'], 0))
      expect(heads[0]!.versionId).toBeGreaterThanOrEqual(20)
      expect(heads[1]!.versionId).toBe(heads[0]!.versionId)
      expect(restored.lastPosition()).toBe(heads[0]!.versionId * 2)
      await restored.close()
    }
    await store.close()
  })

  it('is recognized as damaged', async () => {
    const [file, copy] = [newFile(), newFile()]
    const store = await SqliteResourceStore.open({ file })
    await store.commit(writesOf([...Array(500).keys()].map(String), 0), [])
    await store.backup(copy)
    await store.close()
    const content = readFileSync(copy)
    content.fill(0xa5, content.length / 2, content.length / 2 + 9000)
    writeFileSync(copy, content)
    expect(() => checkStoreFile(copy)).toThrow('damaged')
  })

  it('leaves nothing behind if it fails', async () => {
    const file = newFile()
    const store = await SqliteResourceStore.open({ file })
    await expect(store.backup(join(folder, 'nowhere', 'copy.db'))).rejects.toThrow()
    const isFolder = newFile()
    mkdirSync(isFolder)
    await expect(store.backup(isFolder)).rejects.toThrow()
    expect(existsSync(`${isFolder}.partial`)).toBe(false)
    await store.close()
  })
})

describe('A fault under SQLite', () => {
  it('fails the commits that wait for a dead writer; later commits get a new one', async () => {
    const file = join(folder, 'not-yet', 'store.db')
    const writer = new CommitWriter({ data: { file }, position: 0, old: new KeyFilter() })
    const asked = [0, 1, 2].map((n) => writer.commit(writesOf([`p${n}`], 0), []))
    await Promise.allSettled(asked)
    for (const commit of asked) await expect(commit).rejects.toThrow('unable to open')
    mkdirSync(join(folder, 'not-yet'))
    expect(await writer.commit(writesOf(['p0'], 0), [])).toEqual({ kind: 'committed' })
    await writer.close()
  })

  it('fails commits to a file damaged while open, and its next opening', async () => {
    const file = newFile()
    const first = await SqliteResourceStore.open({ file })
    await first.commit(writesOf([...Array(2000).keys()].map(String), 0), [])
    await first.close()
    const second = await SqliteResourceStore.open({ file })
    const content = readFileSync(file)
    writeFileSync(file, content.fill(0xa5, 8192))
    for (const id of ['7', '1999']) await expect(second.commit(writesOf([id], 1), [])).rejects.toThrow('damaged')
    await expect(second.current(writesOf(['7'], 0))).rejects.toThrow('malformed')
    await second.close()
    await expect(SqliteResourceStore.open({ file })).rejects.toThrow(StoreFileError)
  })

  it('rejects only the excess commits of an overload', async () => {
    const store = await SqliteResourceStore.open({ file: newFile() })
    const commits = [...Array(8).keys()].map((c) =>
      writesOf(
        [...Array(5000).keys()].map((n) => `${c}-${n}`),
        0,
        new Uint8Array(1),
      ),
    )
    const results = await Promise.allSettled(commits.map((writes) => store.commit(writes, [])))
    const refused = results.filter(({ status }) => status === 'rejected')
    expect(refused.length).toBeGreaterThan(0)
    expect(refused).toEqual(refused.map(() => ({ status: 'rejected', reason: fault('overloaded') })))
    for (const [c, { status }] of results.entries()) {
      const heads = await store.current(commits[c]!.slice(0, 10))
      expect(heads.every((head) => (head !== undefined) === (status === 'fulfilled'))).toBe(true)
    }
    expect(await store.commit(writesOf(['after'], 0), [])).toEqual({ kind: 'committed' })
    await store.close()
  })
})
