/** Backups of a data folder: one file with all versions; the index is made again from it. */
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
/** Milliseconds for which the folder may be in use by who does not answer: a server that starts or ends, another command. */
const PATIENCE = 15_000
const PAUSE = 50

/** Told what the person who runs the command should know of the folder, in one line. */
type Warn = (line: string) => void

/** Also while a server runs on the folder. DataFolderError where its store was lost. */
export async function backupStore(folder: string, file: string, warn: Warn): Promise<void> {
  checkStore(folder)
  if (!hasStore(folder)) throw new Error(`There is no data in ${folder}`)
  const copy = async () => {
    await backupStoreFile(join(folder, STORE_FILE), file)
    await flushFolder(dirname(file))
  }
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

/** Puts a backup in the place of the folder's store; a server that runs on the folder goes on with it. StoreFileError where it is no backup. */
export async function restoreStore(folder: string, file: string, warn: Warn): Promise<'running' | 'stopped'> {
  checkIsComplete(file)
  return inFolder<'running' | 'stopped'>(folder, warn, {
    async alone() {
      await commitRestore(folder, await bring(folder, file))
      await installRestoredStore(folder)
      return 'stopped'
    },
    async besideServer() {
      const brought = await bring(folder, file)
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

/** `besideServer`: undefined where none listens. */
type Ways<Result extends string> = { readonly alone: () => Promise<Result>; readonly besideServer: () => Promise<Result | undefined> }

/** With the folder to oneself, or granted by the server whose it is. */
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

/** What a server does for these commands. `restore`: takes a file of the folder that is a whole store; the gate is shut until it is done. */
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

/**
 * A copy in the folder, whole, read and on disk; its name. A server that starts throws it away. The copy is what is
 * read, for the backup may change.
 */
async function bring(folder: string, file: string): Promise<string> {
  const name = `${RESTORED_STORE_FILE}.${randomUUID()}.unfinished`
  const copy = join(folder, name)
  await copyDurably(file, copy)
  try {
    checkStoreFile(copy, file)
    const { uid, gid } = await stat(folder)
    // The server may run as another user than root, who may give files away.
    if (process.getuid?.() === 0) await chown(copy, uid, gid)
    return name
  } catch (error) {
    await rm(copy, { force: true })
    throw error
  }
}

/** The moment of a restore: before it everything is as it was, from now on the folder holds what was brought. */
export const commitRestore = (folder: string, brought: string): Promise<void> =>
  rename(join(folder, basename(brought)), join(folder, RESTORED_STORE_FILE))

/**
 * The rest of a restore, from which a crash may have kept it. Logs go for good first: one of another store would spoil it. So do exports: what
 * they hold, and were about to, is of the store before. The store must not be open. StoreFileError, with everything as it was, where somebody put something else there.
 */
export async function installRestoredStore(folder: string): Promise<void> {
  const restored = join(folder, RESTORED_STORE_FILE)
  if (!existsSync(restored)) return
  try {
    checkIsStore(restored)
  } catch (error) {
    throw new StoreFileError(`${(error as Error).message}, and is in the place of a backup to restore: move it away`, { cause: error })
  }
  // What takes their place is to stay when they are gone.
  await flushFolder(folder)
  await rm(join(folder, EXPORTS.files), { recursive: true, force: true })
  for (const name of [STORE_FILE, INDEX, nextIndexFile(INDEX), EXPORTS.rows])
    for (const end of ['-wal', '-shm', '']) if (name + end !== STORE_FILE) await rm(join(folder, name + end), { force: true })
  await flushFolder(folder)
  await rename(restored, join(folder, STORE_FILE))
  await flushFolder(folder)
}
