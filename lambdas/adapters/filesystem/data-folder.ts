/** The folder an embedded server keeps everything in: made when missing, locked to one process, private to its user, with a key of its own. */
import { randomBytes } from 'node:crypto'
import { mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { filesLeftUnfinished, isMissing, replaceDurably } from './durable-file.ts'
import { takeLock } from './folder-lock.ts'
import { makePrivate } from './private-files.ts'

/** One clear line for the person who starts the server. */
export class DataFolderError extends Error {}

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

const LOCK = 'lock.db'
/** Of versions before this one: a file with the number of a process, which means nothing any more. */
const OLD_LOCK = 'lock'

/** DataFolderInUse; DataFolderError where it cannot be written. */
export async function openDataFolder(folder: string): Promise<DataFolder> {
  const unlock = await lock(folder)
  try {
    for (const name of [OLD_LOCK, ...(await filesLeftUnfinished(folder))]) await rm(join(folder, name), { force: true })
    const warnings = await makePrivate(folder)
    return { path: (name) => join(folder, name), key: () => keyIn(join(folder, 'key')), warnings, unlock }
  } catch (error) {
    unlock()
    throw notWritable(folder, error)
  }
}

async function lock(folder: string): Promise<() => void> {
  let unlock: (() => void) | undefined
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    unlock = takeLock(join(folder, LOCK))
  } catch (error) {
    throw notWritable(folder, error)
  }
  if (unlock === undefined) throw new DataFolderInUse(`The data folder ${folder} is in use by another process`)
  return unlock
}

/** Of the file system, or of SQLite, which says it in words. */
function notWritable(folder: string, error: unknown): DataFolderError {
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
  await replaceDurably(file, (handle) => handle.writeFile(made))
  return made
}
