/**
 * Backup and restore of the store of a data folder. A backup is one file with all versions of all resources. After a restore the server
 * rebuilds the index. full-backup.ts saves the other parts of the folder too.
 */
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chown, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { type CommandHandler, startServerCommand } from '../../adapters/filesystem/command-socket.ts'
import { DataFolderInUse, openDataFolder } from '../../adapters/filesystem/data-folder.ts'
import { copyDurably, flushFolder } from '../../adapters/filesystem/durable-file.ts'
import { backupStoreFile, checkIsComplete, checkIsStore, checkStoreFile } from '../../adapters/sqlite-store/backup.ts'
import { StoreFileError } from '../../adapters/sqlite-store/schema.ts'
import { nextIndexFile } from '../threads/search/index-files.ts'
import { checkStore, hasStore, RESTORED_STORE_FILE, STORE_FILE } from './lost-files.ts'

const INDEX = 'index.db'
const EXPORTS = { rows: 'exports.db', files: 'exports' }
/**
 * How long a command waits for a folder that is in use, in milliseconds. A starting or stopping server, or another command, uses the folder
 * without answering commands.
 */
const PATIENCE = 15_000
const PAUSE = 50

/** Receives one-line warnings about the folder, for the operator. */
export type Warn = (line: string) => void

/**
 * Writes a backup of the store to `file`, even while a server uses the folder. Throws a DataFolderError if the store was lost, and an Error
 * if there is no data.
 */
export async function backupStore(folder: string, file: string, warn: Warn): Promise<void> {
  await runWithStore(folder, warn, async () => {
    await backupStoreFile(join(folder, STORE_FILE), file)
    await flushFolder(dirname(file))
  })
}

/**
 * Runs `copy` while no restore replaces the store. Throws a DataFolderError if the store was lost, and an Error if there is no data.
 */
export async function runWithStore(folder: string, warn: Warn, copy: () => Promise<void>): Promise<void> {
  checkStore(folder)
  if (!hasStore(folder)) throw new Error(`There is no data in ${folder}`)
  await inFolder(folder, warn, {
    async alone() {
      await installRestoredStore(folder)
      await copy()
      return 'done'
    },
    async besideServer() {
      const done = await startServerCommand(folder, 'backup', '')
      if (done === undefined) return undefined
      await copy().finally(done)
      return 'done'
    },
  })
}

/**
 * Replaces the store of the folder with a backup. A server that uses the folder continues with the new store. Throws a StoreFileError if
 * the file is not a backup.
 */
export async function restoreStore(folder: string, file: string, warn: Warn): Promise<'running' | 'stopped'> {
  checkIsComplete(file)
  return replaceStore(folder, warn, () => bring(folder, file))
}

/** Replaces the store of the folder. `bring`: writes the new one into the folder under a `newStoreCopyName`, which it returns. */
export async function replaceStore(folder: string, warn: Warn, bring: () => Promise<string>): Promise<'running' | 'stopped'> {
  return inFolder<'running' | 'stopped'>(folder, warn, {
    async alone() {
      await commitRestore(folder, await bring())
      await installRestoredStore(folder)
      return 'stopped'
    },
    async besideServer() {
      const brought = await bring()
      try {
        const done = await startServerCommand(folder, 'restore', brought)
        done?.()
        return done && 'running'
      } finally {
        await rm(join(folder, brought), { force: true })
      }
    },
  })
}

/**
 * Two ways to execute a command. `alone`: with exclusive use of the folder. `besideServer`: through the server that uses it, or undefined
 * if no server listens.
 */
type Ways<Result extends string> = { readonly alone: () => Promise<Result>; readonly besideServer: () => Promise<Result | undefined> }

/**
 * Runs a command with exclusive use of the folder, or through the server that uses it. Throws DataFolderInUse if neither is possible within
 * PATIENCE.
 */
async function inFolder<Result extends string>(folder: string, warn: Warn, { alone, besideServer }: Ways<Result>): Promise<Result> {
  for (const began = performance.now(); ; await wait(PAUSE)) {
    try {
      const { unlock, warnings } = await openDataFolder(folder)
      for (const line of warnings) warn(line)
      return await alone().finally(unlock)
    } catch (error) {
      if (!(error instanceof DataFolderInUse)) throw error
      const result = await besideServer()
      if (result !== undefined) return result
      if (performance.now() - began > PATIENCE) throw error
    }
  }
}

/**
 * Returns the server's handlers for the commands `backup` and `restore`. `gate`: shut during a restore. `restore`: restores the store with
 * this file name in the folder.
 */
export function storeCommands(
  gate: { readonly isOpen: boolean },
  restore: (file: string) => Promise<void>,
): Readonly<Record<'backup' | 'restore', CommandHandler>> {
  let saving = 0
  return {
    async backup(_, left) {
      if (!gate.isOpen) throw new Error('A backup is being restored: try again')
      saving++
      void left.then(() => saving--)
    },
    async restore(file) {
      if (!gate.isOpen || saving > 0) throw new Error('Another backup or restore is under way: try again')
      await restore(file)
    },
  }
}

/** Returns a name for the copy of a store in a data folder. The next start of a server deletes a file with such a name. */
export const newStoreCopyName = (id: string = randomUUID()): string => `${RESTORED_STORE_FILE}.${id}.unfinished`

/**
 * Copies a backup into the folder, checks the copy, and returns its file name. The copy is durable. The check reads the copy, because the
 * backup may change. The next start of a server deletes a copy that remains.
 */
async function bring(folder: string, file: string): Promise<string> {
  const name = newStoreCopyName()
  const copy = join(folder, name)
  await copyDurably(file, copy)
  try {
    checkStoreFile(copy, file)
    await giveToServer(folder, copy)
    return name
  } catch (error) {
    await rm(copy, { force: true })
    throw error
  }
}

/** Gives a new file to the owner of the folder. The server may run as another user. Only root can change the owner of a file. */
export async function giveToServer(folder: string, file: string): Promise<void> {
  const { uid, gid } = await stat(folder)
  if (process.getuid?.() === 0) await chown(file, uid, gid)
}

/** Commits a restore by renaming the copy. Before the rename the folder still has the previous store, and afterwards the restored one. */
export const commitRestore = (folder: string, brought: string): Promise<void> =>
  rename(join(folder, basename(brought)), join(folder, RESTORED_STORE_FILE))

/**
 * Finishes a committed restore, even one that a crash interrupted. The store must be closed.
 * First deletes the logs of the previous store, which would corrupt the restored one. Also deletes the index and exports, because they
 * belong to the previous store. Throws a StoreFileError and changes nothing if the file with the name of the restored store is no store.
 */
export async function installRestoredStore(folder: string): Promise<void> {
  const restored = join(folder, RESTORED_STORE_FILE)
  if (!existsSync(restored)) return
  try {
    checkIsStore(restored)
  } catch (error) {
    throw new StoreFileError(`${(error as Error).message}, and is in the place of a backup to restore: move it away`, { cause: error })
  }
  // The restored store must be durable before the files that it replaces are deleted.
  await flushFolder(folder)
  await rm(join(folder, EXPORTS.files), { recursive: true, force: true })
  for (const name of [STORE_FILE, INDEX, nextIndexFile(INDEX), EXPORTS.rows])
    for (const end of ['-wal', '-shm', '']) if (name + end !== STORE_FILE) await rm(join(folder, name + end), { force: true })
  await flushFolder(folder)
  await rename(restored, join(folder, STORE_FILE))
  await flushFolder(folder)
}
