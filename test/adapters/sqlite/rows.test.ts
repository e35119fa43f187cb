/** Rows of an embedded server: the contract, several processes and threads on one file, a killed process, a foreign file. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { describe, expect, it } from '@jest/globals'
import { openGrants } from '../../../lambdas/adapters/sqlite-grants/open-grants.ts'
import { SqliteRows } from '../../../lambdas/adapters/sqlite-rows/rows.ts'
import { rowsContract } from '../../contracts/kept-rows.contract.ts'
import { newFolder, runAtEnd } from '../../fixtures/at-end.ts'
import { caseCountOf } from '../../fixtures/long-runs.ts'
import { isProgramUsable, itRequiring } from '../../fixtures/needing.ts'

const KILLS = caseCountOf(3, 30)
const program = fileURLToPath(new URL('../../fixtures/crash/change-rows.ts', import.meta.url))

const newFile = (): string => join(newFolder(), 'exports.db')

function opened(file: string): SqliteRows {
  const rows = new SqliteRows(file)
  runAtEnd(() => rows.close())
  return rows
}

rowsContract('sqlite', async () => {
  const file = newFile()
  opened(file)
  const db = new DatabaseSync(file, { readOnly: true })
  runAtEnd(() => db.close())
  return { open: async () => opened(file), written: () => Object.values(db.prepare('PRAGMA data_version').get()!)[0] as number }
})

/** Starts a process that counts. `lines`: its output after the first line, which reports the start. */
async function counter(command: string, ...args: readonly string[]) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  runAtEnd(() => child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  expect((await lines.next()).value).toBe('ready')
  return { child, lines: { [Symbol.asyncIterator]: () => lines } }
}

const namesOn = async (rows: SqliteRows, owner: string): Promise<number> => {
  let count = 0
  for await (const _ of rows.list(owner)) count++
  return count
}

/** Counts the commits in a log that no checkpoint has reset. https://www.sqlite.org/fileformat2.html#the_write_ahead_log */
function commitsIn(log: string): number {
  const bytes = readFileSync(log)
  const frame = 24 + bytes.readUInt32BE(8)
  let commits = 0
  for (let from = 32; from + frame <= bytes.length; from += frame) if (bytes.readUInt32BE(from + 4) !== 0) commits++
  return commits
}

describe('Several writers on one file of rows', () => {
  it('lose no change, as processes or as threads', async () => {
    const file = newFile()
    const rows = opened(file)
    const { child, lines } = await counter(process.execPath, program, file, 'process', '150')
    const thread = new Worker(program, { argv: [file, 'thread', '150'], stdout: true })
    thread.stdout.resume()
    const ended = [once(child, 'exit'), once(thread, 'exit')]
    for (let i = 0; i < 150; i++) await rows.change<number>('exports', 'count', (n = 0) => n + 1)
    for await (const _ of lines);
    await Promise.all(ended)
    expect([await rows.read('exports', 'count'), await namesOn(rows, 'of/process'), await namesOn(rows, 'of/thread')]).toEqual([
      450, 150, 150,
    ])
  })

  it('share a flush if they write in one turn', async () => {
    const file = newFile()
    const rows = opened(file)
    await rows.change('exports', 'first', () => 1)
    const before = commitsIn(`${file}-wal`)
    await Promise.all(Array.from({ length: 20 }, (_, i) => rows.change<number>('exports', `row-${i % 10}`, (n = 0) => n + 1)))
    // The second change of a row comes after the first, so it is repeated.
    expect([commitsIn(`${file}-wal`) - before, await rows.read('exports', 'row-3')]).toEqual([2, 2])
  })

  it('write all or nothing of a turn, and report a machine fault to each', async () => {
    const file = newFile()
    const rows = opened(file)
    new DatabaseSync(file).exec(
      "CREATE TRIGGER refuse BEFORE INSERT ON row WHEN NEW.name = 'bad' BEGIN SELECT RAISE(ABORT, 'disk I/O error'); END",
    )
    const results = await Promise.allSettled(['good', 'bad'].map((name) => rows.change('exports', name, () => 1)))
    expect([results.map(({ status }) => status), await rows.read('exports', 'good')]).toEqual([['rejected', 'rejected'], undefined])
    await rows.change('exports', 'good', () => 2)
    expect(await rows.read('exports', 'good')).toBe(2)
  })

  it('store a write that was queued when the file is closed', async () => {
    const file = newFile()
    const rows = opened(file)
    const changed = rows.change('exports', 'row', () => 1)
    // The change has read the row and waits for the next turn.
    await new Promise((resolve) => process.nextTick(resolve))
    rows.close()
    await changed
    expect(await opened(file).read('exports', 'row')).toBe(1)
  })

  it('wait for each other without blocking reads', async () => {
    const file = newFile()
    const [rows, other] = [opened(file), new DatabaseSync(file)]
    await rows.change('exports', 'a', () => 1)
    other.exec('BEGIN IMMEDIATE; UPDATE row SET json = 2')
    let turns = 0
    let isDone = false
    const changed = rows
      .change<number>('exports', 'a', (n = 0) => n * 10)
      .finally(() => {
        isDone = true
      })
    for (; turns < 20; turns++) {
      expect([await rows.read('exports', 'a'), isDone]).toEqual([1, false])
      await new Promise((resolve) => setImmediate(resolve))
    }
    other.exec('COMMIT')
    expect([await changed, turns]).toEqual([20, 20])
    other.close()
  })
})

describe('A process that is killed', () => {
  it.each(Array.from({ length: KILLS }, (_, i) => [i + 1]))('leaves every acknowledged row (kill %i)', async (kill) => {
    const file = newFile()
    const { child, lines } = await counter(process.execPath, program, file, 'killed', '100000')
    let told = 0
    for await (const line of lines) {
      told = Number(line)
      if (told === 40 * kill) child.kill('SIGKILL')
    }
    const rows = opened(file)
    const count = (await rows.read<number>('exports', 'count'))!
    expect([told >= 40 * kill, count === told || count === told + 1, (await namesOn(rows, 'of/killed')) - count <= 1]).toEqual([
      true,
      true,
      true,
    ])
    expect(await namesOn(rows, 'of/killed')).toBeGreaterThanOrEqual(count)
  })
})

describe('A full disk', () => {
  itRequiring('ulimit', isProgramUsable('sh', '-c', 'ulimit -S -f 3000'))('rejects rows with one fault and loses none', async () => {
    const file = newFile()
    const limited = ['-c', 'ulimit -S -f 3000; exec "$@"', 'sh', process.execPath, program, file, 'full', '1000', '50000']
    const { lines } = await counter('sh', ...limited)
    const said: string[] = []
    for await (const line of lines) said.push(line)
    expect([said.length > 5, said.at(-1)]).toEqual([true, 'disk-full'])
    const rows = opened(file)
    expect(await rows.read('exports', 'count')).toBe(said.length - 1)
    expect(await rows.change<number>('exports', 'count', (n = 0) => n + 1)).toBe(said.length)
  })
})

describe('The file of rows', () => {
  it('is private to its owner for any umask', async () => {
    const folder = newFolder()
    const before = process.umask(0)
    const rows = new SqliteRows(join(folder, 'exports.db'))
    await rows.change('exports', 'a', () => 1)
    process.umask(before)
    expect(readdirSync(folder).map((name) => [name, (statSync(join(folder, name)).mode & 0o777).toString(8)])).toEqual([
      ['exports.db', '600'],
      ['exports.db-shm', '600'],
      ['exports.db-wal', '600'],
    ])
    rows.close()
    rows.close()
    expect(readdirSync(folder)).toEqual(['exports.db'])
  })

  it('is rejected unchanged if it is foreign, of a newer version, or text', async () => {
    const folder = newFolder()
    await openGrants(join(folder, 'grants.db'), () => 0).close()
    new SqliteRows(join(folder, 'newer.db')).close()
    const newer = new DatabaseSync(join(folder, 'newer.db'))
    newer.exec('PRAGMA user_version = 2')
    newer.close()
    writeFileSync(join(folder, 'text.db'), 'of my bicycle: 4711')
    for (const [name, reason] of [
      ['grants.db', 'is no file of this server'],
      ['newer.db', 'was written by a newer version of this server'],
      ['text.db', 'is damaged, or is no file of this server'],
    ] as const) {
      const bytes = readFileSync(join(folder, name))
      expect(() => new SqliteRows(join(folder, name))).toThrow(`${join(folder, name)} ${reason}`)
      expect(readFileSync(join(folder, name)).equals(bytes)).toBe(true)
    }
  })

  it('is reported as damaged, with its path, if its pages or values are', async () => {
    const file = newFile()
    const rows = opened(file)
    for (let i = 0; i < 300; i++) await rows.change('s', `k${i}`, () => 'x'.repeat(500))
    const direct = new DatabaseSync(file)
    direct.exec(`UPDATE row SET json = '"xx' WHERE name = 'k1'; PRAGMA wal_checkpoint(TRUNCATE)`)
    direct.close()
    const told = (path: string) => ({ fault: 'store-damaged', message: `${path} is damaged` })
    await expect(rows.read('s', 'k1')).rejects.toMatchObject(told(file))
    const copy = newFile()
    copyFileSync(file, copy)
    const bytes = readFileSync(copy)
    writeFileSync(copy, Buffer.concat([bytes.subarray(0, 4_096), Buffer.alloc(bytes.length - 4_096, 0xff)]))
    const damaged = opened(copy)
    await expect(damaged.read('s', 'k2')).rejects.toMatchObject(told(copy))
    await expect(damaged.change('s', 'new', () => 1)).rejects.toMatchObject(told(copy))
    await expect(damaged.remove('s')).rejects.toMatchObject(told(copy))
  })
})
