/** The embedded store after a killed process, on a full disk, and with a torn log. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, copyFileSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from '@jest/globals'
import { SqliteResourceStore } from '../../../lambdas/adapters/sqlite-store/resource-store.ts'
import { openForWriting } from '../../../lambdas/adapters/sqlite-store/schema.ts'
import type { ResourceVersion } from '../../../lambdas/ports/store/resource-store.ts'
import { randomOf } from '../../contracts/generated-search.ts'
import { newFolder } from '../../fixtures/at-end.ts'
import { caseCountOf, firstSeed } from '../../fixtures/long-runs.ts'
import { isProgramUsable, itRequiring } from '../../fixtures/needing.ts'

const KILLS = caseCountOf(3, 30)
const SEED = firstSeed()
/** Maximum number of acknowledged commits before a kill. From the 305th on, some commits are written in slices. */
const LATEST_KILL = 400

const folder = newFolder()

const program = (name: string): string => fileURLToPath(new URL(`../../fixtures/crash/${name}`, import.meta.url))

describe('A process that is killed', () => {
  it('leaves every acknowledged commit, also of earlier processes, and none in part', async () => {
    const file = join(folder, 'killed.db')
    const acknowledged = new Map<string, ReadonlySet<string>>()
    const random = randomOf(SEED)
    for (let kill = 1; kill <= KILLS; kill++) {
      const tenant = `t${kill}`
      const after = 1 + random.below(LATEST_KILL)
      const names = await commitUntilKilled(file, tenant, after)
      acknowledged.set(tenant, names)
      expect(names.size).toBeGreaterThanOrEqual(after)
      const store = await SqliteResourceStore.open({ file })
      const found = { kill, after, seed: SEED, faults: faultsOf(await everyVersion(store, tenant), names) }
      expect(found).toEqual({ ...found, faults: [] })
      await store.close()
    }
    const store = await SqliteResourceStore.open({ file })
    for (const [tenant, names] of acknowledged) {
      const found = { tenant, seed: SEED, faults: faultsOf(await everyVersion(store, tenant), names) }
      expect(found).toEqual({ ...found, faults: [] })
    }
    await store.close()
  })
})

describe('A commit', () => {
  it('is on disk when it is acknowledged: SQLite is set to flush', () => {
    const db = openForWriting(join(folder, 'flush.db'))
    expect(db.prepare('PRAGMA synchronous').get()).toEqual({ synchronous: 2 })
    expect(db.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' })
    db.close()
  })

  const traces = isProgramUsable('strace', '-o', join(folder, 'true'), 'true')
  itRequiring('strace', traces)('is acknowledged only after a flush that began after the request', () => {
    const trace = join(folder, 'trace')
    const options = ['-f', '-s', '40', '-e', 'trace=fsync,fdatasync,write', '-o', trace]
    const run = spawnSync('strace', [...options, process.execPath, program('commit-and-tell.ts'), join(folder, 'traced.db')])
    expect(run.status).toBe(0)
    expect(unflushed(readFileSync(trace, 'utf8').split('\n'))).toEqual({ unflushed: [], acknowledged: 50 })
  })
})

describe('A full disk', () => {
  const kinds = { small: { size: 1, least: 10 }, large: { size: 120, least: 0 } }

  for (const [kind, { size, least }] of Object.entries(kinds))
    itRequiring('prlimit', isProgramUsable('prlimit', '--fsize=unlimited', 'true'))(
      `fails ${kind} commits, loses nothing that was acknowledged, and is over when there is room again`,
      async () => {
        const file = join(folder, `full-${kind}.db`)
        const limited = ['-c', 'ulimit -S -f 20000; exec "$@"', 'sh', process.execPath, program('commit-until-full.ts'), file, `${size}`]
        const child = spawn('sh', limited, { stdio: ['pipe', 'pipe', 'inherit'] })
        const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
        const full = JSON.parse((await lines.next()).value ?? '') as { readonly versions: number; readonly fault: string }
        expect(full.fault).toBe('disk-full')
        expect(full.versions).toBeGreaterThan(least)
        expect(spawnSync('prlimit', ['--pid', `${child.pid}`, '--fsize=unlimited']).status).toBe(0)
        child.stdin.end()
        const { versions: kept } = JSON.parse((await lines.next()).value ?? '') as { readonly versions: number }
        await gone(child)
        expect(kept).toBe(full.versions + 5)
        const store = await SqliteResourceStore.open({ file })
        const heads = await store.current([...Array(size).keys()].map((n) => ({ tenant: 't', type: 'Binary', id: `b${n}` })))
        expect(heads.every((head) => head?.versionId === kept)).toBe(true)
        expect((await everyVersion(store, 't')).length).toBe(kept * size)
        await store.close()
      },
    )
})

describe('A torn log', () => {
  const damages: Record<string, (wal: string, length: number) => void> = {
    'garbage behind its end': (wal) => appendFileSync(wal, Buffer.alloc(10_000, 0xa5)),
    'its last byte missing': (wal, length) => truncateSync(wal, length - 1),
    'its last third missing': (wal, length) => truncateSync(wal, Math.floor((length * 2) / 3)),
    'nothing but half a header': (wal) => truncateSync(wal, 16),
    'garbage in its last page': (wal, length) => overwrite(wal, length - 3000),
    'garbage in its middle': (wal, length) => overwrite(wal, Math.floor(length / 2)),
  }

  for (const [damage, doDamage] of Object.entries(damages))
    it(`with ${damage} leaves all that was in the file and whole commits of the log`, async () => {
      const copy = join(folder, `torn-${damage.replaceAll(' ', '-')}.db`)
      const { inFile, inAll } = await copyOfAStoreInUse(copy)
      doDamage(`${copy}-wal`, readFileSync(`${copy}-wal`).length)
      const store = await SqliteResourceStore.open({ file: copy })
      const heads = await store.current(pair(0))
      const kept = heads[0]!.versionId
      expect(heads[1]!.versionId).toBe(kept)
      expect(kept).toBeGreaterThanOrEqual(damage.includes('behind') ? inAll : inFile)
      expect((await everyVersion(store, 't')).length).toBe(kept * 2)
      expect(await store.commit(pair(kept), [])).toEqual({ kind: 'committed' })
      await store.close()
    })

  const pair = (expected: number) =>
    ['a', 'b'].map((id) => ({
      ...{ tenant: 't', type: 'Patient', id, expected, lastUpdated: expected + 1, deleted: false, compartments: [] },
      body: new Uint8Array(500).fill(expected),
    }))

  /** 20 commits in the file, 20 more in the log. */
  async function copyOfAStoreInUse(copy: string): Promise<{ readonly inFile: number; readonly inAll: number }> {
    const file = `${copy}.source`
    for (const from of [0, 20]) {
      const store = await SqliteResourceStore.open({ file })
      for (let expected = from; expected < from + 20; expected++) await store.commit(pair(expected), [])
      if (from > 0) for (const end of ['', '-wal']) copyFileSync(file + end, copy + end)
      await store.close()
    }
    return { inFile: 20, inAll: 40 }
  }
})

/** Kills the process after that many acknowledged commits, and returns the names of all acknowledged commits. */
async function commitUntilKilled(file: string, tenant: string, after: number): Promise<ReadonlySet<string>> {
  const child = spawn(process.execPath, [program('commit-until-killed.ts'), file, tenant], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  for await (const chunk of child.stdout.setEncoding('utf8')) {
    output += chunk
    if (output.split('\n').length > after) child.kill('SIGKILL')
  }
  await gone(child)
  // The last line may have been cut.
  return new Set(output.slice(0, output.lastIndexOf('\n')).split('\n'))
}

async function gone(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'close')
}

async function everyVersion(store: SqliteResourceStore, tenant: string): Promise<readonly ResourceVersion[]> {
  const found: ResourceVersion[] = []
  for (;;) {
    const { versions, more } = await store.history({ tenant }, {}, found.at(-1), 5000)
    found.push(...versions)
    if (!more) return found
  }
}

/** Faults in the versions that a killed process left. Each body holds the name of its commit and the number of its entries. */
function faultsOf(versions: readonly ResourceVersion[], acknowledged: ReadonlySet<string>): readonly string[] {
  const commits = Map.groupBy(versions, ({ body }) => new TextDecoder().decode(body).trimEnd())
  const lost = [...acknowledged].filter((name) => !commits.has(name)).map((name) => `lost ${name}`)
  const torn = [...commits].filter(([name, of]) => of.length !== Number(name.split(' ')[1])).map(([name]) => `torn ${name}`)
  const resources = Map.groupBy(versions, ({ id }) => id)
  const gaps = [...resources].filter(([, of]) => Math.max(...of.map(({ versionId }) => versionId)) !== of.length).map(([id]) => `gap ${id}`)
  return [...lost, ...torn, ...gaps]
}

/** Returns acknowledgements in a trace of system calls without a complete flush since their request. */
function unflushed(lines: readonly string[]): { readonly unflushed: readonly string[]; readonly acknowledged: number } {
  const begun = new Map<string, number>()
  const asked = new Map<string, number>()
  const without: string[] = []
  let acknowledged = 0
  let lastFlush = -1
  for (const [at, line] of lines.entries()) {
    const thread = line.split(' ')[0]!
    if (/f(data)?sync\(.*<unfinished/.test(line)) begun.set(thread, at)
    else if (/f(data)?sync resumed.*= 0/.test(line)) lastFlush = Math.max(lastFlush, begun.get(thread) ?? -1)
    else if (/f(data)?sync\(.*= 0/.test(line)) lastFlush = at
    const [, what, n] = /write\(1, "(asked|committed) (\d+)/.exec(line) ?? []
    if (what === 'asked') asked.set(n!, at)
    if (what !== 'committed') continue
    acknowledged += 1
    if (lastFlush < asked.get(n!)!) without.push(line)
  }
  return { unflushed: without, acknowledged }
}

function overwrite(path: string, at: number): void {
  const content = readFileSync(path)
  content.fill(0xa5, at, at + 100)
  writeFileSync(path, content)
}
