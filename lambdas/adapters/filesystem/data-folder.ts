/**
 * Folder with all data of an embedded server. It is created if missing and locked to one process. The server's entries in it are made
 * private to its user.
 */
import { randomBytes } from 'node:crypto'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isMissing, makeFolders, replaceDurably, unfinishedFilesIn } from './durable-file.ts'
import { checkEntries, checkEntry, DataFolderError, isServerEntry } from './folder-entries.ts'
import { isNotLockFile, takeLock } from './folder-lock.ts'
import { checkLegacyLock } from './legacy-lock.ts'
import { makePrivate } from './private-files.ts'

/** Another process has locked the folder. */
export class DataFolderInUse extends DataFolderError {}

export type DataFolder = {
  readonly path: (name: string) => string
  /** Returns the secret key of the folder: 32 random bytes, created on the first call. */
  readonly key: () => Promise<Uint8Array>
  /** Warnings for the operator, one line each. */
  readonly warnings: readonly string[]
  readonly unlock: () => void
}

/**
 * Locks and checks the folder. Throws DataFolderInUse if another process uses it, and DataFolderError if it is not writable or an entry of
 * the server has the wrong kind.
 */
export async function openDataFolder(folder: string): Promise<DataFolder> {
  const unlock = await lock(folder)
  try {
    await checkEntries(folder)
    for (const name of (await unfinishedFilesIn(folder)).filter(isServerEntry))
      for (const end of UNFINISHED_LOGS) await rm(join(folder, name + end), { force: true })
    const warnings = [...(await checkLegacyLock(folder)), ...(await makePrivate(folder))]
    return { path: (name) => join(folder, name), key: () => keyIn(join(folder, 'key')), warnings, unlock }
  } catch (error) {
    unlock()
    throw notWritable(folder, error)
  }
}

/** Ends of the names of an unfinished file and of the logs that SQLite wrote beside it. */
const UNFINISHED_LOGS = ['-wal', '-shm', '']

async function lock(folder: string): Promise<() => void> {
  const file = join(folder, 'lock.db')
  let unlock: (() => void) | undefined
  try {
    await makeFolders(folder)
    await checkEntry(file, 'file')
    unlock = takeLock(file)
  } catch (error) {
    if (isNotLockFile(error))
      throw new DataFolderError(`${file} is not a lock of this server: remove it while no server runs on the folder`)
    throw notWritable(folder, error)
  }
  if (unlock === undefined) throw new DataFolderInUse(`The data folder ${folder} is in use by another process`)
  return unlock
}

/** Converts an error of the file system or of SQLite to a DataFolderError with its cause in one line. */
function notWritable(folder: string, error: unknown): DataFolderError {
  if (error instanceof DataFolderError) return error
  const { code, errcode, message } = error as NodeJS.ErrnoException & { readonly errcode?: number }
  return new DataFolderError(`The data folder ${folder} is not writable (${errcode === undefined ? code : message})`)
}

/**
 * Returns the secret key and creates it if the file is missing or empty. An earlier version left an empty file on a full disk; nothing was
 * sealed with it.
 */
async function keyIn(file: string): Promise<Uint8Array> {
  const known = await readFile(file).catch((error) => {
    if (isMissing(error)) return Buffer.alloc(0)
    throw error
  })
  if (known.length === 32) return known
  if (known.length > 0) throw new DataFolderError(`${file} is not a key of this server`)
  const made = randomBytes(32)
  await replaceDurably(file, (handle) => handle.writeFile(made)).catch((error: NodeJS.ErrnoException) => {
    throw new DataFolderError(`${file} cannot be written (${error.code ?? error.message})`, { cause: error })
  })
  return made
}
