/** Grants of the embedded authorization server: the contracts, two processes on one file, a killed process, a foreign file. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from '@jest/globals'
import { openGrantsFile, toGrantsFault } from '../../../lambdas/adapters/sqlite-grants/grants-file.ts'
import { type OpenedGrants, openGrants } from '../../../lambdas/adapters/sqlite-grants/open-grants.ts'
import { isFault, type MachineFault } from '../../../lambdas/ports/faults.ts'
import { clientsContract } from '../../contracts/clients.contract.ts'
import { grantsContract, PAGE_UNDER_TEST } from '../../contracts/grants.contract.ts'
import { revocationsContract } from '../../contracts/revocations.contract.ts'
import { usersContract } from '../../contracts/users.contract.ts'
import { newFolder, runAtEnd } from '../../fixtures/at-end.ts'
import { caseCountOf } from '../../fixtures/long-runs.ts'
import { isProgramUsable, itRequiring } from '../../fixtures/needing.ts'

const KILLS = caseCountOf(3, 30)
const fixture = (name: string): string => fileURLToPath(new URL(`../../fixtures/crash/${name}`, import.meta.url))
const program = fixture('add-grants.ts')

/** A new file. All openings read the same clock. */
function fileUnderTest() {
  const file = join(newFolder(), 'grants.db')
  const clock = { now: 0 }
  const watching: DatabaseSync[] = []
  const query = (sql: string): number => {
    if (watching.length === 0) {
      watching.push(new DatabaseSync(file, { readOnly: true }))
      runAtEnd(() => watching[0]!.close())
    }
    return Object.values(watching[0]!.prepare(sql).get()!)[0] as number
  }
  return {
    file,
    query,
    open: async (): Promise<OpenedGrants> => {
      const opened = openGrants(file, () => clock.now, PAGE_UNDER_TEST)
      runAtEnd(() => opened.close())
      return opened
    },
    setTime: (now: number) => void Object.assign(clock, { now }),
  }
}

clientsContract('sqlite', async () => {
  const { open, query } = fileUnderTest()
  return { open: async () => (await open()).clients, written: () => query('PRAGMA data_version') }
})

usersContract('sqlite', async () => {
  const { open, query } = fileUnderTest()
  return { open: async () => (await open()).users, written: () => query('PRAGMA data_version') }
})

grantsContract('sqlite', async () => {
  const { open, query, setTime } = fileUnderTest()
  return { open: async () => (await open()).grants, setTime, taken: async () => query('SELECT count(*) FROM grant') }
})

revocationsContract('sqlite', async () => {
  const { open, query, setTime } = fileUnderTest()
  return { open: async () => (await open()).revocations, setTime, taken: async () => query('SELECT count(*) FROM revocation') }
})

/** A process that adds the codes k0, k1 … to the file, and prints for each whether it added it. */
function adder(file: string, count: number) {
  const child = spawn(process.execPath, [program, file, String(count)], { stdio: ['ignore', 'pipe', 'inherit'] })
  runAtEnd(() => child.kill('SIGKILL'))
  return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() }
}

describe('Two processes on one file of grants', () => {
  it('add each grant once, in either order, and see the grants of the other', async () => {
    const file = join(newFolder(), 'grants.db')
    const { grants, close } = openGrants(file, () => 0)
    // Each process is first at least once: on a busy machine one may finish before the other starts.
    let mine = Number(await grants.add('code', 'k299', { owner: 'mine', value: 299 }))
    const { lines } = adder(file, 300)
    expect([(await lines.next()).value, (await lines.next()).value]).toEqual(['ready', 'k0 true'])
    for (let i = 298; i >= 0; i--) if (await grants.add('code', `k${i}`, { owner: 'mine', value: i })) mine++
    let theirs = 1
    for await (const line of { [Symbol.asyncIterator]: () => lines }) {
      const [key, added] = (line as string).split(' ')
      const seen = await grants.get('code', key!)
      if (added === 'true') theirs++
      expect(seen?.owner).toBe(added === 'true' ? 'theirs' : 'mine')
    }
    expect([mine > 0, theirs > 0, mine + theirs]).toEqual([true, true, 300])
    await close()
  })

  it('wait for each other without blocking reads', async () => {
    const file = join(newFolder(), 'grants.db')
    const { clients, grants, close } = openGrants(file, () => 0)
    await grants.add('code', 'a', { owner: 'o', value: 1 })
    const other = openGrantsFile(file)
    other.exec('BEGIN IMMEDIATE')
    let isDone = false
    const waiting = grants.add('code', 'b', { owner: 'o', value: 2 }).then((added) => {
      isDone = added
    })
    for (let i = 0; i < 50; i++) expect([await clients.list(), await grants.get('code', 'b'), isDone]).toEqual([[], undefined, false])
    other.exec('COMMIT')
    await waiting
    expect([isDone, (await grants.get('code', 'b'))?.value]).toEqual([true, 2])
    other.close()
    await close()
  })
})

describe('A process that is killed', () => {
  it.each(Array.from({ length: KILLS }, (_, i) => [i + 1]))('leaves every acknowledged grant (kill %i)', async (kill) => {
    const file = join(newFolder(), 'grants.db')
    const { child, lines } = adder(file, 100_000)
    const acknowledged: string[] = []
    for (let i = 0; i <= 40 * kill; i++) acknowledged.push((await lines.next()).value as string)
    child.kill('SIGKILL')
    await once(child, 'exit')
    for await (const line of { [Symbol.asyncIterator]: () => lines }) acknowledged.push(line as string)
    const { grants, close } = openGrants(file, () => 0)
    for (const line of acknowledged.filter((each) => each.endsWith(' true')))
      expect(await grants.get('code', line.split(' ')[0]!)).toMatchObject({ owner: 'theirs' })
    expect(acknowledged.length).toBeGreaterThan(40)
    await close()
  })
})

describe('A full disk', () => {
  itRequiring('prlimit', isProgramUsable('prlimit', '--fsize=unlimited', 'true'))(
    'rejects grants with one fault, loses none, and accepts them once space is free',
    async () => {
      const file = join(newFolder(), 'grants.db')
      const limited = ['-c', 'ulimit -S -f 3000; exec "$@"', 'sh', process.execPath, fixture('add-until-full.ts'), file]
      const child = spawn('sh', limited, { stdio: ['pipe', 'pipe', 'inherit'] })
      runAtEnd(() => child.kill('SIGKILL'))
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
      const { kept, ...full } = JSON.parse((await lines.next()).value ?? '') as { readonly kept: number }
      expect([kept > 5, full]).toEqual([true, { fault: 'disk-full', isLastThere: false }])
      expect(spawnSync('prlimit', ['--pid', `${child.pid}`, '--fsize=unlimited']).status).toBe(0)
      child.stdin.end()
      expect(JSON.parse((await lines.next()).value ?? '')).toEqual({ there: kept + 1 })
      await once(child, 'exit')
    },
  )

  it('is detected by the error codes of SQLite', () => {
    const said = (errcode: number) => toGrantsFault(Object.assign(new Error('said'), { errcode }), 'grants.db')
    expect([13, 778, 4_874, 10, 5, 11, 1].map((code) => (said(code) as Partial<MachineFault>).fault)).toEqual([
      ...['disk-full', 'disk-full', 'disk-full', undefined, 'overloaded', 'store-damaged', undefined],
    ])
  })
})

describe('The file of grants', () => {
  it('is private to its owner for any umask, and is flushed at every commit', async () => {
    const folder = newFolder()
    const before = process.umask(0)
    const { grants, close } = openGrants(join(folder, 'grants.db'), () => 0)
    await grants.add('code', 'k', { owner: 'o', value: 1 })
    process.umask(before)
    expect(readdirSync(folder).map((name) => [name, (statSync(join(folder, name)).mode & 0o777).toString(8)])).toEqual([
      ['grants.db', '600'],
      ['grants.db-shm', '600'],
      ['grants.db-wal', '600'],
    ])
    await close()
    expect(readdirSync(folder)).toEqual(['grants.db'])
    const db = openGrantsFile(join(folder, 'grants.db'))
    expect([db.prepare('PRAGMA synchronous').get(), db.prepare('PRAGMA journal_mode').get()]).toEqual([
      { synchronous: 2 },
      { journal_mode: 'wal' },
    ])
    db.close()
  })

  it('is rejected unchanged if it is foreign or of a newer version', async () => {
    const folder = newFolder()
    const store = new DatabaseSync(join(folder, 'store.db'))
    store.exec('PRAGMA application_id = 1178093906; CREATE TABLE version (seq)')
    store.close()
    openGrants(join(folder, 'newer.db'), () => 0).close()
    const newer = new DatabaseSync(join(folder, 'newer.db'))
    newer.exec('PRAGMA user_version = 2')
    newer.close()
    writeFileSync(join(folder, 'text.db'), 'of my bicycle: 4711')
    for (const [name, reason] of [
      ['store.db', 'no file of this server'],
      ['newer.db', 'a newer version'],
      ['text.db', 'no file of this server'],
    ] as const) {
      const bytes = readFileSync(join(folder, name))
      expect(() => openGrants(join(folder, name), () => 0)).toThrow(reason)
      expect(readFileSync(join(folder, name)).equals(bytes)).toBe(true)
    }
  })

  it('is reported as damaged if its pages are', async () => {
    const { file, open } = fileUnderTest()
    const { grants } = await open()
    for (let i = 0; i < 300; i++) await grants.add('session', `k${i}`, { owner: 'o', value: 'x'.repeat(500) })
    const copy = join(newFolder(), 'grants.db')
    openGrantsFile(file).exec('PRAGMA wal_checkpoint(TRUNCATE)')
    copyFileSync(file, copy)
    const bytes = readFileSync(copy)
    writeFileSync(copy, Buffer.concat([bytes.subarray(0, 4_096), Buffer.alloc(bytes.length - 4_096, 0xff)]))
    const damaged = openGrants(copy, () => 0)
    const told = { fault: 'store-damaged', message: `${copy} is damaged` }
    await expect(damaged.grants.get('session', 'k1')).rejects.toMatchObject(told)
    await expect(damaged.grants.add('session', 'new', { owner: 'o', value: 1 })).rejects.toMatchObject(told)
    await damaged.close()
  })

  it('accepts a limited number of concurrent changes, rejects others, and continues', async () => {
    const { open } = fileUnderTest()
    const { grants } = await open()
    const added = Array.from({ length: 6_000 }, (_, i) => grants.add('attempts', `k${i}`, { owner: '', value: 1 }))
    const ended = await Promise.allSettled(added)
    expect(ended.filter((each) => each.status === 'fulfilled' && each.value)).toHaveLength(5_000)
    expect(ended.every((each) => each.status === 'fulfilled' || isFault(each.reason, 'overloaded'))).toBe(true)
    expect(await grants.add('attempts', 'k5999', { owner: '', value: 1 })).toBe(true)
  })

  it('closes after pending changes, and accepts none afterwards', async () => {
    const { file, open } = fileUnderTest()
    const { grants, close } = await open()
    const added = grants.add('code', 'k', { owner: 'o', value: 1 })
    await close()
    expect(await added).toBe(true)
    await expect(grants.add('code', 'l', { owner: 'o', value: 1 })).rejects.toThrow('closed')
    const again = openGrants(file, () => 0)
    expect(await again.grants.get('code', 'k')).toMatchObject({ value: 1 })
    await again.close()
  })
})
