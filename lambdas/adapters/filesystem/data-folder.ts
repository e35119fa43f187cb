/** The folder an embedded server keeps everything in: made when missing, locked to one process, private to its user, with a key of its own. */
import { randomBytes } from 'node:crypto'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isMissing, makeFolders, replaceDurably, unfinishedFilesIn } from './durable-file.ts'
import { checkEntries, checkEntry, DataFolderError, isServerEntry } from './folder-entries.ts'
import { isNotLockFile, takeLock } from './folder-lock.ts'
import { checkLegacyLock } from './legacy-lock.ts'
import { makePrivate } from './private-files.ts'

/** The folder is another process's. */
export class DataFolderInUse extends DataFolderError {}

export type DataFolder = {
  readonly path: (name: string) => string
  /** 32 random bytes, made once. */
  readonly key: () => Promise<Uint8Array>
  /** What the person who starts the server should know, one line each. */
  readonly warnings: readonly string[]
  readonly unlock: () => void
}

/** DataFolderInUse; DataFolderError where it cannot be written, or something is in it that should not be there. */
export async function openDataFolder(folder: string): Promise<DataFolder> {
  const unlock = await lock(folder)
  try {
    await checkEntries(folder)
    for (const name of (await unfinishedFilesIn(folder)).filter(isServerEntry)) await rm(join(folder, name), { force: true })
    const warnings = [...(await checkLegacyLock(folder)), ...(await makePrivate(folder))]
    return { path: (name) => join(folder, name), key: () => keyIn(join(folder, 'key')), warnings, unlock }
  } catch (error) {
    unlock()
    throw notWritable(folder, error)
  }
}

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

/** Of the file system, or of SQLite, which says it in words. */
function notWritable(folder: string, error: unknown): DataFolderError {
  if (error instanceof DataFolderError) return error
  const { code, errcode, message } = error as NodeJS.ErrnoException & { readonly errcode?: number }
  return new DataFolderError(`The data folder ${folder} is not writable (${errcode === undefined ? code : message})`)
}

/** An empty file is one that did not fit on the disk of a version before this one: nothing was ever sealed with it. */
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
