/** Files of a data folder that are missing or empty, beside others that show that they existed. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { readConfig } from '../../lambdas/runtime/config.ts'
import { openAdministration } from '../../lambdas/runtime/control/administration.ts'
import { backupStore, restoreStore } from '../../lambdas/runtime/control/backup-command.ts'
import { checkStore, lostFileWarnings } from '../../lambdas/runtime/control/lost-files.ts'
import { openPackages } from '../../lambdas/runtime/control/package-commands.ts'
import { openEmbeddedServer } from '../../lambdas/runtime/embedded/server.ts'
import { newFolder } from '../fixtures/at-end.ts'

const ignore = (): void => undefined

/** Starts a server and stops it; returns its warnings. */
async function restarted(dataFolder: string, isNewStore = false): Promise<readonly string[]> {
  const warnings: string[] = []
  const { close } = await openEmbeddedServer({
    ...{ config: readConfig({ FHIR_ACCESS: 'open' }), baseUrl: 'http://127.0.0.1/fhir', dataFolder, isNewStore },
    warn: (line) => warnings.push(line),
    report: ignore,
  })
  await close()
  return warnings
}

/** A folder in which a server ran. */
async function usedFolder(): Promise<string> {
  const folder = newFolder()
  expect(await restarted(folder)).toEqual([])
  return folder
}

function put(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
}

describe('A lost store', () => {
  it.each(['store.db-wal', 'index.db', 'exports.db', 'key', 'grants.db', 'signing-keys/a.json', 'audit/2026-01-01.jsonl'])(
    'is reported beside %s',
    (trace) => {
      const folder = newFolder()
      put(join(folder, trace), 'x')
      expect(() => checkStore(folder)).toThrow(
        `${join(folder, 'store.db')} is missing, but ${dirname(`./${trace}`) === '.' ? trace : dirname(trace)} shows`,
      )
      put(join(folder, 'store.db'), '')
      expect(() => checkStore(folder)).toThrow(`${join(folder, 'store.db')} is empty, but`)
    },
  )

  it('is not reported in a new folder, or after a start that created no store', () => {
    const folder = newFolder()
    checkStore(folder)
    for (const name of ['lock.db', 'store.db', 'index.db', 'key']) put(join(folder, name), '')
    checkStore(folder)
  })

  it('rejects a backup, which would be empty', async () => {
    const folder = await usedFolder()
    for (const end of ['', '-wal']) writeFileSync(join(folder, `store.db${end}`), '')
    await expect(backupStore(folder, join(newFolder(), 'saved.db'), ignore)).rejects.toThrow('is empty, but')
  })

  it('is not replaced by a command that creates the store of a new folder', async () => {
    const folder = await usedFolder()
    rmSync(join(folder, 'store.db'))
    await (await openAdministration(folder, { isNew: true })).close()
    await (await openPackages(folder, true)).close()
    await expect(restarted(folder)).rejects.toThrow('is missing, but')
  })

  it('is replaced by a backup', async () => {
    const folder = await usedFolder()
    const saved = join(newFolder(), 'saved.db')
    await backupStore(folder, saved, ignore)
    rmSync(join(folder, 'store.db'))
    expect(await restoreStore(folder, saved, ignore)).toBe('stopped')
    expect(await restarted(folder)).toEqual([])
  })

  it('is replaced by an empty store once the operator confirms it', async () => {
    const folder = await usedFolder()
    rmSync(join(folder, 'store.db'))
    expect([await restarted(folder, true), await restarted(folder)]).toEqual([[], []])
  })
})

it.each([
  ['a client', async (folder: string) => (await openAdministration(folder, { isNew: true })).close()],
  ['a package', async (folder: string) => (await openPackages(folder, true)).close()],
])('a folder created with %s has a store, and a server starts on it', async (_, begin) => {
  const folder = newFolder()
  await begin(folder)
  expect(readFileSync(join(folder, 'store.db')).subarray(0, 6).toString()).toBe('SQLite')
  put(join(folder, 'audit', '2026-01-01.commands.jsonl'), '{}')
  expect(await restarted(folder)).toEqual([])
})

it.each(['missing', 'empty'])('a %s key or list of exports is reported if the folder was in use', (how) => {
  const folder = newFolder()
  const lost = ['key', 'exports.db'].map((name) => join(folder, name))
  if (how === 'empty') for (const file of lost) put(file, '')
  expect(lostFileWarnings(folder)).toEqual([])
  for (const name of ['index.db', 'exports/objects/a']) put(join(folder, name), 'x')
  expect(lostFileWarnings(folder)).toEqual(lost.map((file) => expect.stringContaining(`${file} was lost`)))
})

it('a server that continues without its list of exports reports that once', async () => {
  const folder = await usedFolder()
  put(join(folder, 'exports', 'objects', 'a', 'b'), '{}')
  rmSync(join(folder, 'exports.db'))
  expect(await restarted(folder)).toEqual([expect.stringContaining('exports.db was lost')])
  expect(await restarted(folder)).toEqual([])
})
