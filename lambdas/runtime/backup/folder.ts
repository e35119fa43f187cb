/** Backup and restore of all versions of a data folder, in the format of deployments on AWS. */
import { closeSync, existsSync, fstatSync, openSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { SystemClock } from '../../adapters/in-process/system-clock.ts'
import { checkStoreFile } from '../../adapters/sqlite-store/backup.ts'
import { SqliteResourceReader } from '../../adapters/sqlite-store/resource-reader.ts'
import { SqliteResourceStore } from '../../adapters/sqlite-store/resource-store.ts'
import { openForWriting } from '../../adapters/sqlite-store/schema.ts'
import { backupStore, giveToServer, newStoreCopyName, replaceStore, type Warn } from '../control/backup-command.ts'
import type { BackupStore, Manifest } from './backup-format.ts'
import { type RestoreOptions, restoreBackup } from './restore-backup.ts'
import { type BackupOptions, writeBackup } from './write-backup.ts'

/**
 * Writes a backup of a copy of the store, also while its server runs. An interrupted backup leaves the copy in the folder, and continues with
 * it. The next command or server that locks the folder removes the copy. Then the backup starts from the beginning.
 */
export async function backupFolderVersions(
  folder: string,
  store: BackupStore,
  warn: Warn,
  options: Pick<BackupOptions, 'onProgress' | 'objectBytes'> = {},
): Promise<Manifest> {
  const clock = new SystemClock()
  const copyOf = (backup: string): string => join(folder, newStoreCopyName(backup))
  let reader: SqliteResourceReader | undefined
  const open = (backup: string): SqliteResourceReader => (reader ??= new SqliteResourceReader(copyOf(backup)))
  try {
    const manifest = await writeBackup({
      ...options,
      store,
      origin: {
        ...{ name: `the data folder ${resolve(folder)}`, wait, newId: () => clock.newId() },
        canContinue: (backup) => existsSync(copyOf(backup)),
        async begin(backup) {
          await backupStore(folder, copyOf(backup), warn)
          // The copy does not change, so every version in it may be read, even one that a wrong clock stamped.
          return Math.max(clock.now(), open(backup).newest())
        },
        open(backup) {
          const copy = open(backup)
          return {
            scan: (request) => copy.scan(request),
            versions: (keys, room) => copy.versions(keys, room),
            tenants: () => copy.tenants(),
            settled: async () => true,
          }
        },
      },
    })
    await removeStore(copyOf(manifest.id))
    return manifest
  } finally {
    reader?.close()
  }
}

/**
 * Replaces all resources of the folder by those of a backup, also while its server runs. Until the whole backup is read and compared, the
 * folder keeps its own.
 */
export function restoreFolderVersions(
  folder: string,
  store: BackupStore,
  warn: Warn,
  onProgress?: RestoreOptions['onProgress'],
): Promise<'running' | 'stopped'> {
  return replaceStore(folder, warn, async () => {
    const name = newStoreCopyName()
    const file = join(folder, name)
    try {
      const target = await SqliteResourceStore.open({ file })
      const opened = openSync(file, 'r')
      try {
        try {
          await restoreBackup({ store, target, name: folder, ...(onProgress === undefined ? {} : { onProgress }) })
        } finally {
          await target.close()
        }
        // The connection that closes last moves the log into the file. A reader, which may have been the last, does not.
        openForWriting(file).close()
        checkStoreFile(file)
        // A server that starts removes unfinished files. SQLite would write to the removed file, and then create an empty one.
        // guard: restored-store-is-not-removed
        if (fstatSync(opened).nlink === 0)
          throw new Error(`A server that started on ${folder} meanwhile ended the restore: repeat the command`)
      } finally {
        closeSync(opened)
      }
      await giveToServer(folder, file)
      return name
    } catch (error) {
      await removeStore(file)
      throw error
    }
  })
}

async function removeStore(file: string): Promise<void> {
  for (const end of ['-wal', '-shm', '']) await rm(file + end, { force: true })
}
