/** The folder an embedded server keeps everything in: made when missing, locked to one process, with a key of its own. */
import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/** One clear line for the person who starts the server. */
export class DataFolderError extends Error {}

export type DataFolder = {
  readonly path: (name: string) => string
  /** 32 random bytes, made once. */
  readonly key: () => Uint8Array
  readonly unlock: () => void
}

const LOCK = 'lock'

/** `port`: told to whoever finds the lock. DataFolderError: not writable, or in use. */
export function openDataFolder(folder: string): DataFolder {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    takeLock(join(folder, LOCK), folder)
  } catch (error) {
    if (error instanceof DataFolderError) throw error
    throw new DataFolderError(`The data folder ${folder} is not writable (${(error as NodeJS.ErrnoException).code})`)
  }
  return {
    path: (name) => join(folder, name),
    key: () => keyIn(join(folder, 'key')),
    unlock: () => rmSync(join(folder, LOCK), { force: true }),
  }
}

/** The process that holds the lock of the folder, if one does. */
export function lockedBy(folder: string): number | undefined {
  const file = join(folder, LOCK)
  if (!existsSync(file)) return undefined
  const pid = Number(readFileSync(file, 'utf8').trim())
  return isRunning(pid) ? pid : undefined
}

function takeLock(file: string, folder: string): void {
  for (let attempt = 0; attempt < 2; attempt++) {
    try {
      const lock = openSync(file, 'wx', 0o600)
      writeSync(lock, `${process.pid}\n`)
      closeSync(lock)
      return
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      const holder = lockedBy(folder)
      if (holder !== undefined && holder !== process.pid)
        throw new DataFolderError(`The data folder ${folder} is in use by process ${holder}`)
      rmSync(file, { force: true })
    }
  }
  throw new DataFolderError(`The data folder ${folder} is in use`)
}

function isRunning(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function keyIn(file: string): Uint8Array {
  if (!existsSync(file)) writeFileSync(file, randomBytes(32), { mode: 0o600, flag: 'wx' })
  const key = readFileSync(file)
  if (key.length !== 32) throw new DataFolderError(`${file} is not a key of this server`)
  return key
}
