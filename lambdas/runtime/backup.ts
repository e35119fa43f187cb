/** Backups of a data folder: one file with all versions; the index is made again from it. */
import { copyFileSync, existsSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { lockedBy, openDataFolder } from '../adapters/filesystem/data-folder.ts'
import { backupStoreFile, checkStoreFile } from '../adapters/sqlite-store/backup.ts'
import { nextTo } from './index-files.ts'

const STORE = 'store.db'
const INDEX = 'index.db'
/** Where a restore leaves the store for the server to take. */
const RESTORED = 'restored.db'
const PATIENCE = 60_000

/** Also while a server runs on the folder. */
export const backupStore = (folder: string, file: string): Promise<void> => backupStoreFile(join(folder, STORE), file)

/** Puts a backup in the place of the folder's store; a server that runs on the folder goes on with it. StoreFileError where it is no backup. */
export async function restoreStore(folder: string, file: string): Promise<'running' | 'stopped'> {
  checkStoreFile(file)
  const server = lockedBy(folder)
  if (server === undefined) {
    const data = openDataFolder(folder)
    leaveRestored(folder, file)
    takeRestored(folder)
    data.unlock()
    return 'stopped'
  }
  leaveRestored(folder, file)
  process.kill(server, 'SIGHUP')
  for (let waited = 0; existsSync(join(folder, RESTORED)); waited += 50) {
    if (waited > PATIENCE || lockedBy(folder) === undefined)
      throw new Error('The server did not take the backup: it will when it starts again')
    await wait(50)
  }
  return 'running'
}

function leaveRestored(folder: string, file: string): void {
  const partial = join(folder, `${RESTORED}.partial`)
  copyFileSync(file, partial)
  renameSync(partial, join(folder, RESTORED))
}

/** The last step of a restore, which a crash may have kept it from. The store must not be open. */
export function takeRestored(folder: string): void {
  const restored = join(folder, RESTORED)
  if (!existsSync(restored)) return
  for (const name of [STORE, INDEX, nextTo(INDEX)])
    for (const end of ['-wal', '-shm', '']) rmSync(join(folder, name + end), { force: true })
  renameSync(restored, join(folder, STORE))
}
