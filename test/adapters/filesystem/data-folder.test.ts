/** The folder of an embedded server: one process locks it, other users cannot read it, and its key is complete. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from '@jest/globals'
import { DataFolderInUse, openDataFolder } from '../../../lambdas/adapters/filesystem/data-folder.ts'
import { DataFolderError } from '../../../lambdas/adapters/filesystem/folder-entries.ts'
import { takeLock } from '../../../lambdas/adapters/filesystem/folder-lock.ts'
import { newFolder, runAtEnd } from '../../fixtures/at-end.ts'
import { caseCountOf } from '../../fixtures/long-runs.ts'
import { itRequiring } from '../../fixtures/needing.ts'

const AT_ONCE = caseCountOf(5, 200)

/** Number of the user `nobody`. */
const OTHER_USER = 65_534

const children = new Set<ChildProcess>()
runAtEnd(() => {
  for (const child of children) child.kill('SIGKILL')
})

/** A path in a new folder that does not exist yet. */
const unmade = (): string => join(newFolder(), 'data')

const program = fileURLToPath(new URL('../../fixtures/crash/take-lock.ts', import.meta.url))

/** Starts a process that takes the lock. `told`: its next line of output. */
function taker(folder: string): { readonly child: ChildProcess; readonly told: () => Promise<string> } {
  const child = spawn(process.execPath, [program, join(folder, 'lock.db')], { stdio: ['pipe', 'pipe', 'inherit'] })
  children.add(child)
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]()
  return { child, told: async () => (await lines.next()).value as string }
}

describe('The lock of a folder', () => {
  itRequiring('a user with the rights of root', process.geteuid?.() === 0)('belongs to the user of the folder if root takes it', () => {
    const folder = newFolder()
    chownSync(folder, OTHER_USER, OTHER_USER)
    const file = join(folder, 'lock.db')
    takeLock(file)!()
    const { uid, gid } = statSync(file)
    expect([uid, gid]).toEqual([OTHER_USER, OTHER_USER])
  })

  it.each([['a new folder'], ['a folder whose server was killed']])(
    `is one process's of ${AT_ONCE} that ask at once, in %s`,
    async (state) => {
      const folder = newFolder()
      if (state !== 'a new folder') await killedServerIn(folder)
      const all = Array.from({ length: AT_ONCE }, () => taker(folder))
      for (const { told } of all) expect(await told()).toBe('ready')
      for (const { child } of all) child.stdin!.write('go\n')
      const answers = await Promise.all(all.map(({ told }) => told()))
      expect(answers.filter((answer) => answer === 'taken')).toHaveLength(1)
      expect(answers.filter((answer) => answer === 'refused')).toHaveLength(AT_ONCE - 1)
      for (const { child } of all) child.kill('SIGKILL')
    },
    600_000,
  )

  async function killedServerIn(folder: string): Promise<void> {
    writeFileSync(join(folder, 'lock'), '1\n')
    const { child, told } = taker(folder)
    child.stdin!.write('go\n')
    expect([await told(), await told()]).toEqual(['ready', 'taken'])
    await expect(openDataFolder(folder)).rejects.toThrow(DataFolderInUse)
    child.kill('SIGKILL')
    await once(child, 'exit')
  }

  it('is granted once, also within a process, and can be released', async () => {
    const folder = unmade()
    const { unlock } = await openDataFolder(folder)
    for (let i = 0; i < 2; i++)
      await expect(openDataFolder(folder)).rejects.toThrow(`The data folder ${folder} is in use by another process`)
    const { child, told } = taker(folder)
    child.stdin!.write('go\n')
    expect([await told(), await told()]).toEqual(['ready', 'refused'])
    await once(child, 'exit')
    unlock()
    const again = await openDataFolder(folder)
    again.unlock()
  })

  it('stays held after a garbage collection', () => {
    const file = join(newFolder(), 'lock.db')
    expect(takeLock(file)).toBeDefined()
    setFlagsFromString('--expose-gc')
    runInNewContext('gc')()
    expect(takeLock(file)).toBeUndefined()
  })

  it('warns about a running process that an old lock names, and leaves both alone', async () => {
    const folder = newFolder()
    const bystander = spawn('sleep', ['60'])
    children.add(bystander)
    const lock = join(folder, 'lock')
    writeFileSync(lock, `${bystander.pid}\n`)
    const { warnings, unlock } = await openDataFolder(folder)
    unlock()
    expect(warnings).toEqual([expect.stringMatching(`^${lock} names process ${bystander.pid}, which runs: if it is an older version.*$`)])
    expect([existsSync(lock), bystander.exitCode, bystander.signalCode]).toEqual([true, null, null])
    bystander.kill()
    await once(bystander, 'exit')
    const again = await openDataFolder(folder)
    again.unlock()
    expect([again.warnings, existsSync(lock)]).toEqual([[], false])
  })

  it.each([['999999999\n'], [`${process.pid}\n`], ['0'], ['']])('removes an old lock that names no other process: %j', async (text) => {
    const folder = newFolder()
    writeFileSync(join(folder, 'lock'), text)
    const { warnings, unlock } = await openDataFolder(folder)
    unlock()
    expect([warnings, readdirSync(folder)]).toEqual([[], ['lock.db']])
  })

  it('leaves a file that has the name of an old lock but other content', async () => {
    const folder = newFolder()
    writeFileSync(join(folder, 'lock'), 'of my bicycle: 4711')
    const { warnings, unlock } = await openDataFolder(folder)
    unlock()
    expect([warnings, readFileSync(join(folder, 'lock'), 'utf8')]).toEqual([[], 'of my bicycle: 4711'])
  })

  it('cannot be taken in a folder that is not writable', async () => {
    const file = unmade()
    writeFileSync(file, '')
    await expect(openDataFolder(join(file, 'below'))).rejects.toThrow(/is not writable \(ENOTDIR\)/)
  })
})

describe('The key of a folder', () => {
  it('is created once', async () => {
    const data = await openDataFolder(newFolder())
    const key = await data.key()
    expect(key).toHaveLength(32)
    expect(await data.key()).toEqual(key)
    data.unlock()
  })

  it('replaces the empty file of a full disk, and rejects any other file', async () => {
    const data = await openDataFolder(newFolder())
    writeFileSync(data.path('key'), '')
    const key = await data.key()
    expect(new Uint8Array(readFileSync(data.path('key')))).toEqual(new Uint8Array(key))
    writeFileSync(data.path('key'), 'short')
    await expect(data.key()).rejects.toThrow(DataFolderError)
    data.unlock()
  })
})

describe('A folder', () => {
  const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8)

  it('becomes private with the files of an older server; a shared one causes a warning', async () => {
    const folder = join(newFolder(), 'my data')
    mkdirSync(folder)
    for (const path of ['audit', 'blobs', 'blobs/objects', 'exports', 'signing-keys']) mkdirSync(join(folder, path))
    for (const path of ['store.db', 'store.db-wal', 'grants.db', 'exports.db', 'key', 'audit/2026-01-01.jsonl'])
      writeFileSync(join(folder, path), 'x', { mode: 0o666 })
    for (const path of [
      '',
      'audit',
      'blobs',
      'blobs/objects',
      'exports',
      'signing-keys',
      'store.db',
      'store.db-wal',
      'grants.db',
      'exports.db',
      'audit/2026-01-01.jsonl',
    ])
      chmodSync(join(folder, path), statSync(join(folder, path)).isDirectory() ? 0o755 : 0o664)
    const { warnings, unlock } = await openDataFolder(folder)
    unlock()
    expect(warnings).toEqual([`The data folder ${folder} can be read by other users: chmod 700 '${folder}'`])
    expect(
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .map((path) => `${path} ${modeOf(join(folder, path))}`)
        .sort(),
    ).toEqual([
      'audit 700',
      'audit/2026-01-01.jsonl 664',
      'blobs 700',
      'blobs/objects 755',
      'exports 700',
      'exports.db 600',
      'grants.db 600',
      'key 600',
      'lock.db 600',
      'signing-keys 700',
      'store.db 600',
      'store.db-wal 600',
    ])
  })

  it('is private from its creation', async () => {
    const before = process.umask(0)
    const folder = unmade()
    const { warnings, unlock, key } = await openDataFolder(folder)
    await key()
    process.umask(before)
    // The lock writes nothing, so it needs no disk space and leaves nothing behind after a crash.
    expect(readdirSync(folder).sort()).toEqual(['key', 'lock.db'])
    unlock()
    expect([warnings, modeOf(folder), modeOf(join(folder, 'key')), modeOf(join(folder, 'lock.db'))]).toEqual([[], '700', '600', '600'])
  })

  it('warns about linked folders that other users can read', async () => {
    const [folder, shared, own] = [newFolder(), newFolder(), newFolder()]
    chmodSync(shared, 0o755)
    symlinkSync(shared, join(folder, 'audit'))
    symlinkSync(own, join(folder, 'blobs'))
    const { warnings, unlock } = await openDataFolder(folder)
    unlock()
    expect([warnings, modeOf(shared)]).toEqual([[`${join(folder, 'audit')} leads to what can be read by other users`], '755'])
  })

  it('leaves unrelated files unchanged', async () => {
    const folder = newFolder()
    for (const name of ['notes.txt', 'novel.unfinished', 'keys', 'store.txt']) {
      writeFileSync(join(folder, name), 'mine')
      chmodSync(join(folder, name), 0o644)
    }
    mkdirSync(join(folder, 'www'))
    chmodSync(join(folder, 'www'), 0o755)
    const { warnings, unlock } = await openDataFolder(folder)
    unlock()
    expect(warnings).toEqual([])
    expect(readdirSync(folder).map((name) => `${name} ${modeOf(join(folder, name))}`)).toEqual([
      'keys 644',
      'lock.db 600',
      'notes.txt 644',
      'novel.unfinished 644',
      'store.txt 644',
      'www 755',
    ])
  })

  it('loses the unfinished files of a previous process', async () => {
    const folder = newFolder()
    writeFileSync(join(folder, 'key.1.unfinished'), '')
    mkdirSync(join(folder, 'my.unfinished'))
    const { unlock } = await openDataFolder(folder)
    unlock()
    expect(readdirSync(folder)).toEqual(['lock.db', 'my.unfinished'])
  })
})
