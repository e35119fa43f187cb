/** Folders of added packages. Each exists completely or not at all. Only one process at a time adds or removes. */
import { randomUUID } from 'node:crypto'
import { chown, mkdir, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { entriesIn, flushFolder, giveToOwner, isUnfinished, makeFolder } from './durable-file.ts'
import { checkEntry } from './folder-entries.ts'
import { takeLock } from './folder-lock.ts'

/** Maximum wait for another process that adds or removes, in milliseconds. Then an Error is thrown. */
const PATIENCE = 15_000
const PAUSE = 50

/**
 * Runs `work` while no other call or process adds or removes packages. Before that it removes the unfinished folders that ended processes
 * left.
 */
export function runExclusively<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const result = last.then(() => aloneOfProcesses(folder, work))
  last = result.catch(() => undefined)
  return result
}

/** Last work of this process. Calls within the process wait for it, because the file lock excludes only other processes. */
let last: Promise<unknown> = Promise.resolve()

async function aloneOfProcesses<T>(folder: string, work: () => Promise<T>): Promise<T> {
  await checkEntry(folder, 'folder')
  await makeFolder(folder)
  const unlock = await locked(folder)
  try {
    for (const name of (await entriesIn(folder)).filter(isUnfinished)) await rm(join(folder, name), { recursive: true, force: true })
    return await work()
  } finally {
    unlock()
  }
}

async function locked(folder: string): Promise<() => void> {
  for (const began = performance.now(); ; await wait(PAUSE)) {
    const unlock = takeLock(join(folder, 'lock.db'))
    if (unlock !== undefined) return unlock
    if (performance.now() - began > PATIENCE) throw new Error('Another command adds or removes a package: try again')
  }
}

/** Adds a folder with files at `path`. `files`: file name → text. If a file cannot be written, the folder does not exist. */
export async function addFolder(folder: string, path: string, files: ReadonlyMap<string, string>): Promise<void> {
  const unfinished = unfinishedOf(path)
  try {
    await mkdir(unfinished, { mode: 0o700 })
    await giveToOwner(folder, ({ uid, gid }) => chown(unfinished, uid, gid))
    for (const [name, text] of files) await write(folder, join(unfinished, name), text)
    await flushFolder(unfinished)
    await rename(unfinished, path)
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true })
    throw error
  }
  await flushFolder(folder)
}

/** Removes the folder at `path`. It is renamed first, so that servers do not see it while its files are removed. */
export async function removeFolder(folder: string, path: string): Promise<void> {
  const unfinished = unfinishedOf(path)
  await rename(path, unfinished)
  await flushFolder(folder)
  await rm(unfinished, { recursive: true, force: true })
}

const unfinishedOf = (path: string): string => `${path}.${randomUUID()}.unfinished`

async function write(folder: string, path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  await giveToOwner(folder, ({ uid, gid }) => file.chown(uid, gid))
    .then(() => file.writeFile(text))
    .then(() => file.sync())
    .finally(() => file.close())
}
