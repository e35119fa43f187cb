/** The power fails before each call that changes or flushes a file: afterwards the folder has the old or the new content, complete. */
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect } from '@jest/globals'
import { AuditFile } from '../../lambdas/adapters/filesystem/audit-file.ts'
import { FilesystemBlobStore } from '../../lambdas/adapters/filesystem/blob-store.ts'
import { openDataFolder } from '../../lambdas/adapters/filesystem/data-folder.ts'
import { FilesystemPackages } from '../../lambdas/adapters/filesystem/packages.ts'
import { openGrants } from '../../lambdas/adapters/sqlite-grants/open-grants.ts'
import { backupStoreFile } from '../../lambdas/adapters/sqlite-store/backup.ts'
import { SqliteResourceStore } from '../../lambdas/adapters/sqlite-store/resource-store.ts'
import { installRestoredStore } from '../../lambdas/runtime/control/backup-command.ts'
import { backupFolder } from '../../lambdas/runtime/control/full-backup.ts'
import { checkStore } from '../../lambdas/runtime/control/lost-files.ts'
import { newFolder } from '../fixtures/at-end.ts'
import { FAULTY_DISK, itOnFaultyDisk } from '../fixtures/faults/disk.ts'
import { caseStepOf } from '../fixtures/long-runs.ts'
import { patientKeyOf, writeOf } from '../fixtures/versions.ts'

const program = fileURLToPath(new URL('../fixtures/faults/change-files.ts', import.meta.url))
/** Every step in a whole run, else every third, from the first on. */
const EACH = caseStepOf(3, 1)

type Change = 'restore' | 'restore-all' | 'backup' | 'backup-all' | 'key' | 'blob' | 'parts' | 'audit'

function run(what: Change, folder: string, disk: Record<string, string>): number | null {
  const env = { ...process.env, ...FAULTY_DISK, DISK_UNDER: folder, ...disk }
  return spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', program, what, folder], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  }).status
}

/** Returns the calls of the whole change, and the result of `found` for the folder after each cut. */
async function cutEverywhere<Found>(what: Change, made: (folder: string) => Promise<void>, found: (folder: string) => Promise<Found>) {
  const root = newFolder()
  const begin = async (name: string): Promise<string> => {
    const folder = join(root, name)
    mkdirSync(folder, { mode: 0o700 })
    await made(folder)
    return folder
  }
  const whole = await begin('whole')
  const trace = join(root, 'trace')
  expect(run(what, whole, { DISK_TRACE: trace })).toBe(0)
  const calls = readFileSync(trace, 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.replace(/^(\w+) (.*)$/, (_, call, path) => `${call} ${basename(path)}`))
  const states: Found[] = []
  for (let cut = 1; cut <= calls.length; cut += EACH) {
    const folder = await begin(`cut${cut}`)
    expect(run(what, folder, { DISK_CUT: String(cut) })).toBe(99)
    states.push(await found(folder))
  }
  return { calls, states: [...states, await found(whole)] }
}

/** Old states, then new ones: no step leads back, or to anything else. */
const oldThenNew = (states: readonly string[]): string => states.join(' ').replace(/\b(\w+)( \1\b)+/g, '$1')

describe('A power cut', () => {
  itOnFaultyDisk('leaves the old store or the restored one, with no log of the other', async () => {
    const { calls, states } = await cutEverywhere('restore', storeWithLog, async (folder) => {
      const { unlock } = await openDataFolder(folder)
      await installRestoredStore(folder)
      const state = await idsIn(join(folder, 'store.db'))
      unlock()
      return state
    })
    expect(oldThenNew(states)).toBe('old new')
    expect(calls.map((call) => call.replace(/restored\.db\..*unfinished/, 'unfinished'))).toEqual([
      'fsync unfinished',
      'rename restored.db',
      'fsync whole',
      'unlink store.db-wal',
      'fsync whole',
      'rename store.db',
      'fsync whole',
    ])
  })

  itOnFaultyDisk('leaves a reported backup, because its content and then its name are flushed', async () => {
    const folder = newFolder()
    await storeWithLog(folder)
    const trace = join(newFolder(), 'trace')
    expect(run('backup', folder, { DISK_TRACE: trace })).toBe(0)
    const calls = readFileSync(trace, 'utf8').replaceAll(`${folder}/`, '').replaceAll(folder, 'folder').trim().split('\n')
    const written = calls.lastIndexOf('write saved.db.partial')
    expect(calls.slice(written + 1).filter((call) => /saved|folder/.test(call) && !call.includes('journal'))).toEqual([
      'fsync saved.db.partial',
      'rename saved.db',
      'fsync folder',
    ])
  })

  itOnFaultyDisk('leaves a folder that a start refuses, or all of a backup of everything', async () => {
    const saved = async (folder: string): Promise<void> => {
      if (existsSync(join(folder, '..', 'saved'))) return
      const data = newFolder()
      await storeWithLog(data)
      writeFileSync(join(data, 'key'), 'k'.repeat(32))
      writeFileSync(join(data, 'base-urls'), 'http://127.0.0.1/fhir\n')
      await new FilesystemPackages(join(data, 'packages')).add({ name: 'a', version: '1.0.0' }, new Map([['package.json', '{}']]))
      await backupFolder(data, join(folder, '..', 'saved'), () => undefined)
    }
    const { calls, states } = await cutEverywhere('restore-all', saved, async (folder) => {
      const { unlock } = await openDataFolder(folder)
      await installRestoredStore(folder)
      unlock()
      try {
        checkStore(folder)
      } catch {
        return 'refused'
      }
      return existsSync(join(folder, 'packages', 'a-1.0.0', 'package.json')) ? 'all' : 'part'
    })
    expect(calls.indexOf('fsync key')).toBeLessThan(calls.indexOf('fsync package.json'))
    expect(oldThenNew(states)).toBe('refused all')
  })

  itOnFaultyDisk('leaves the list of a backup of everything only beside its files, which are flushed before', async () => {
    const folder = newFolder()
    await storeWithLog(folder)
    await openGrants(join(folder, 'grants.db'), () => 1).close()
    mkdirSync(join(folder, 'audit'))
    writeFileSync(join(folder, 'audit', '2026-01-01.jsonl'), '{}\n{"half')
    const trace = join(newFolder(), 'trace')
    expect(run('backup-all', folder, { DISK_TRACE: trace })).toBe(0)
    const calls = readFileSync(trace, 'utf8').replaceAll(`${folder}/`, '').trim().split('\n')
    const listed = calls.indexOf('rename saved/backup.json')
    const flushed = (path: string): boolean => calls.lastIndexOf(`fsync ${path}`, listed) > calls.lastIndexOf(`write ${path}`)
    const paths = ['saved/store.db', 'saved/grants.db', 'saved/audit/2026-01-01.jsonl', 'saved/audit']
    expect([calls.length > listed && listed > 0, paths.filter((path) => !flushed(path))]).toEqual([true, []])
    expect(calls.slice(listed + 1)).toEqual(['fsync saved'])
  })

  itOnFaultyDisk('leaves a key or none, and the next start has one', async () => {
    const { calls, states } = await cutEverywhere(
      'key',
      async () => undefined,
      async (folder) => {
        const state = existsSync(join(folder, 'key')) ? `new${readFileSync(join(folder, 'key')).length}` : 'none'
        const { key, unlock } = await openDataFolder(folder)
        expect(await key()).toHaveLength(32)
        unlock()
        return state
      },
    )
    expect(oldThenNew(states)).toBe('none new32')
    expect(calls.map((call) => call.replace(/key\..*unfinished/, 'unfinished'))).toEqual([
      'write unfinished', 'fsync unfinished', 'rename key', 'fsync whole',
    ]) // biome-ignore format: one line
  })

  itOnFaultyDisk('leaves the old blob or the new one', async () => {
    const old = (folder: string) => new FilesystemBlobStore(folder).put('a', { bytes: Buffer.from('old'), contentType: 'text/plain' })
    const { states } = await cutEverywhere('blob', old, async (folder) => {
      const bytes = (await new FilesystemBlobStore(folder).get('a'))!.bytes
      return bytes.length === 100_000 && Buffer.from(bytes).equals(Buffer.alloc(100_000, 'new')) ? 'new' : Buffer.from(bytes).toString()
    })
    expect(oldThenNew(states)).toBe('old new')
  })

  itOnFaultyDisk('leaves the old blob or the one of parts, which can be repeated or aborted', async () => {
    const [contentType, bytes] = ['text/plain', Buffer.alloc(100_000, 'new')]
    const begun = async (folder: string) => {
      const store = new FilesystemBlobStore(folder)
      await store.put('a', { bytes: Buffer.from('old'), contentType })
      const parts = await store.openParts('a', contentType)
      writeFileSync(join(folder, 'parts.json'), JSON.stringify({ id: parts.id, tag: await parts.writePart(1, bytes) }))
    }
    const stateOf = async (folder: string) => {
      const found = (await new FilesystemBlobStore(folder).get('a'))!.bytes
      return bytes.equals(found) ? 'new' : Buffer.from(found).toString()
    }
    const aborted = await cutEverywhere('parts', begun, async (folder) => {
      const state = await stateOf(folder)
      await new FilesystemBlobStore(folder).abortParts('')
      expect(readdirSync(join(folder, 'parts'))).toHaveLength(state === 'new' ? 1 : 0)
      return stateOf(folder)
    })
    expect(oldThenNew(aborted.states)).toBe('old new')
    const repeated = await cutEverywhere('parts', begun, async (folder) => {
      const state = await stateOf(folder)
      const done = run('parts', folder, {}) === 0
      // A repetition fails if the change was complete already.
      expect(done || state === 'new').toBe(true)
      return stateOf(folder)
    })
    expect(oldThenNew(repeated.states)).toBe('new')
  })

  itOnFaultyDisk('leaves whole lines of audit records', async () => {
    const { states } = await cutEverywhere('audit', async (folder) => writeFileSync(join(folder, 'lines'), '{"n":1}\n'), async (folder) => {
      await (await AuditFile.open(join(folder, 'lines'))).close()
      return readFileSync(join(folder, 'lines'), 'utf8').trim().split('\n').map((line) => JSON.parse(line).n).join('')
    }) // biome-ignore format: one line
    expect(oldThenNew(states)).toBe('1 12 123')
  })
})

async function idsIn(file: string): Promise<string> {
  const store = await SqliteResourceStore.open({ file })
  const { versions } = await store.history({ tenant: 't' }, {}, undefined, 10)
  await store.close()
  return versions.map(({ id }) => id).join('+')
}

/** A store whose only version is in its log, as a killed server leaves it; beside the folder a backup with another. */
async function storeWithLog(folder: string): Promise<void> {
  for (const [id, file] of [
    ['new', join(folder, 'other.db')],
    ['old', join(folder, 'used.db')],
  ] as const) {
    const store = await SqliteResourceStore.open({ file })
    await store.commit([writeOf(patientKeyOf(id))], [])
    if (id === 'old') for (const end of ['', '-wal']) cpSync(file + end, join(folder, `store.db${end}`))
    else if (!existsSync(join(folder, '..', 'backup.db'))) await backupStoreFile(file, join(folder, '..', 'backup.db'))
    await store.close()
  }
}
