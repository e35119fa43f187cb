/** Backups of a data folder into another store, and their restore. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { listenForCommands } from '../../../lambdas/adapters/filesystem/command-socket.ts'
import { openDataFolder } from '../../../lambdas/adapters/filesystem/data-folder.ts'
import { SqliteResourceReader } from '../../../lambdas/adapters/sqlite-store/resource-reader.ts'
import { SqliteResourceStore } from '../../../lambdas/adapters/sqlite-store/resource-store.ts'
import { MANIFEST_KEY, readJson, START_KEY } from '../../../lambdas/runtime/backup/backup-format.ts'
import { backupFolderVersions, restoreFolderVersions } from '../../../lambdas/runtime/backup/folder.ts'
import { instantOf, sourceNameOf } from '../../../lambdas/runtime/backup/stage.ts'
import { newFolder } from '../../fixtures/at-end.ts'
import { commitAll, killedAt, memoryBackup, savedWrites, versionsIn } from '../../fixtures/backups.ts'
import { resourceKeyOf, writeOf } from '../../fixtures/versions.ts'

const FAR = Date.UTC(2100, 0)
const warn = (): void => undefined
const options = { objectBytes: 2_000 }

async function write(folder: string, writes = savedWrites()): Promise<void> {
  const store = await SqliteResourceStore.open({ file: join(folder, 'store.db') })
  await commitAll(store, writes)
  await store.close()
}

async function versionsOf(folder: string): Promise<readonly string[]> {
  const reader = new SqliteResourceReader(join(folder, 'store.db'))
  const versions = await versionsIn(reader)
  reader.close()
  return versions
}

const copiesIn = (folder: string): readonly string[] => readdirSync(folder).filter((name) => /^restored/.test(name))

const other = writeOf(resourceKeyOf('default', 'Account', 'other'), { body: { resourceType: 'Account' }, lastUpdated: FAR })

describe('The backup of a data folder', () => {
  it('continues with the copy of its store, whatever is written meanwhile, and removes the copy', async () => {
    const [folder, target, store] = [newFolder(), newFolder(), memoryBackup()]
    await write(folder)
    const before = await versionsOf(folder)
    await expect(backupFolderVersions(folder, killedAt(store, 8), warn, options)).rejects.toThrow('killed')
    expect(copiesIn(folder).filter((name) => name.endsWith('.unfinished'))).toHaveLength(1)
    await write(folder, [other])
    await backupFolderVersions(folder, store, warn, options)
    expect(copiesIn(folder)).toEqual([])
    expect(await restoreFolderVersions(target, store, warn)).toBe('stopped')
    expect(await versionsOf(target)).toEqual(before)
  })

  it('starts from the beginning once a server has removed the copy', async () => {
    const [folder, target, store] = [newFolder(), newFolder(), memoryBackup()]
    await write(folder)
    await expect(backupFolderVersions(folder, killedAt(store, 8), warn, options)).rejects.toThrow('killed')
    const first = await readJson<{ readonly id: string }>(store, START_KEY)
    await write(folder, [other])
    // Each command that locks the folder removes the copy.
    await restoreNothing(folder)
    expect(copiesIn(folder)).toEqual([])
    const { id } = await backupFolderVersions(folder, store, warn, options)
    expect(id).not.toBe(first?.id)
    await restoreFolderVersions(target, store, warn)
    // Even a version that a wrong clock stamped is in it.
    expect(await versionsOf(target)).toEqual(await versionsOf(folder))
  })
})

describe('The restore of a data folder', () => {
  it('replaces the resources only after all of the backup is verified', async () => {
    const [folder, target, store] = [newFolder(), newFolder(), memoryBackup()]
    await write(folder)
    await write(target, [other])
    const { objects } = await backupFolderVersions(folder, store, warn, options)
    const last = objects.at(-1)!.key
    const whole = (await store.get(last))!
    await store.put(last, { ...whole, bytes: whole.bytes.subarray(1) })
    const before = await versionsOf(target)
    await expect(restoreFolderVersions(target, store, warn)).rejects.toThrow(/\(checksum\)$/)
    expect([await versionsOf(target), copiesIn(target)]).toEqual([before, []])
    await store.put(last, whole)
    await restoreFolderVersions(target, store, warn)
    expect(await versionsOf(target)).toEqual(await versionsOf(folder))
  })

  it('ends if the server starts again meanwhile, which removes the new store', async () => {
    const [folder, target, store] = [newFolder(), newFolder(), memoryBackup()]
    await write(folder)
    await write(target, [other])
    const { objects } = await backupFolderVersions(folder, store, warn, options)
    const restored: string[] = []
    const start = async () => {
      const { unlock } = await openDataFolder(target)
      const end = await listenForCommands(target, { restore: async (file) => void restored.push(file) })
      return () => end().then(unlock)
    }
    let stop = await start()
    const get: typeof store.get = async (key, range) => {
      if (key === objects.at(-1)!.key) {
        await stop()
        stop = await start()
      }
      return store.get(key, range)
    }
    await expect(restoreFolderVersions(target, { ...store, get }, warn)).rejects.toThrow(/meanwhile ended the restore: repeat the command$/)
    await stop()
    expect([restored, copiesIn(target)]).toEqual([[], []])
  })
})

it('The backup of a stage is not continued from a stage of this name in another account or region', () => {
  const stage = { stage: 'dev', region: 'eu-west-1', resourceTable: 'fhir-dev-1' }
  const others = [stage, { ...stage, resourceTable: 'fhir-dev-2' }, { ...stage, region: 'eu-west-2' }]
  expect(new Set(others.map(sourceNameOf)).size).toBe(3)
})

it('The backup of a stage needs a clock that agrees with that of S3', () => {
  const at = (now: number) => instantOf(10_000, { now: () => now })
  expect([at(5_000), at(15_000)]).toEqual([11_000, 21_000])
  expect(() => at(15_001)).toThrow('The clock of this machine differs from that of S3 by 5 s: set it, then repeat the command')
  expect(() => at(4_999)).toThrow('differs from that of S3 by -5 s')
})

/** A restore that fails, but locks the folder. */
async function restoreNothing(folder: string): Promise<void> {
  const store = memoryBackup()
  await store.put(MANIFEST_KEY, { bytes: Buffer.from('{}'), contentType: 'x' })
  await expect(restoreFolderVersions(folder, store, warn)).rejects.toThrow(/format/)
}
