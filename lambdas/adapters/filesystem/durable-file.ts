/**
 * Files that exist wholly or not at all, are private to their owner, and survive a crash of the machine. They are written under another
 * name, flushed and renamed. Then the folder is flushed.
 */
import { randomUUID } from 'node:crypto'
import { chmod, chown, copyFile, type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { MachineFault } from '../../ports/faults.ts'

const UNFINISHED = '.unfinished'

/** Errors of a full disk, a used-up quota of the user, or a file at the size limit of the process. */
const FULL: ReadonlySet<string | undefined> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG'])

/** Throws the fault `disk-full` if the file has no room. The file at `path` is then as it was. */
export async function replaceDurably(path: string, fill: (file: FileHandle) => Promise<void>): Promise<void> {
  try {
    await replace(path, fill)
  } catch (error) {
    throw FULL.has((error as NodeJS.ErrnoException).code)
      ? new MachineFault('disk-full', `the disk has no room for ${path}`, { cause: error })
      : error
  }
}

async function replace(path: string, fill: (file: FileHandle) => Promise<void>): Promise<void> {
  const folder = dirname(path)
  await makeFolder(folder)
  const unfinished = `${path}.${randomUUID()}${UNFINISHED}`
  try {
    const file = await open(unfinished, 'wx', 0o600)
    await giveToOwner(folder, ({ uid, gid }) => file.chown(uid, gid))
      .then(() => fill(file))
      .then(() => file.sync())
      .finally(() => file.close())
    await rename(unfinished, path)
  } catch (error) {
    await rm(unfinished, { force: true })
    throw error
  }
  // guard: folder-is-flushed-after-rename
  await flushFolder(folder)
}

/** Copies a file to disk, private to its owner. It does not flush the folder, so the new entry may be lost in a crash. */
export async function copyDurably(from: string, to: string): Promise<void> {
  try {
    await copyFile(from, to)
    await chmod(to, 0o600)
    const file = await open(to, 'r+')
    await file.sync().finally(() => file.close())
  } catch (error) {
    await rm(to, { force: true })
    throw error
  }
}

export async function removeDurably(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true })
  } catch (error) {
    if (isMissing(error)) return
    throw error
  }
  await flushFolder(dirname(path))
}

/** Whether a file of this name is being written, or was left by a process that ended. */
export const isUnfinished = (name: string): boolean => name.endsWith(UNFINISHED)

/** Returns the names of the finished files of a folder, or none if the folder does not exist. */
export const filesIn = async (folder: string): Promise<readonly string[]> => (await entriesIn(folder)).filter((name) => !isUnfinished(name))

/** Returns all names in a folder, or none if the folder does not exist. */
export async function entriesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

/** Returns the names of unfinished files that an ended process left. */
export const unfinishedFilesIn = async (folder: string): Promise<readonly string[]> =>
  (await readdir(folder, { withFileTypes: true })).filter((entry) => entry.isFile() && isUnfinished(entry.name)).map(({ name }) => name)

export const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT'

/** Creates the folder with its parents. A new folder is an entry of its parent, so that is flushed as well. */
export async function makeFolder(folder: string): Promise<void> {
  const made = await makeFolders(resolve(folder))
  for (const each of made) await giveToOwner(dirname(each), ({ uid, gid }) => chown(each, uid, gid))
  for (const each of made) await flushFolder(dirname(each))
}

/**
 * Creates the folder with its parents and returns those it created, highest first. The recursive mkdir of Node never ends if the system
 * does not allow the folder, as below /proc.
 */
export async function makeFolders(folder: string): Promise<readonly string[]> {
  try {
    return (await isMade(folder)) ? [folder] : []
  } catch (error) {
    if (!isMissing(error) || dirname(folder) === folder) throw error
  }
  const above = await makeFolders(dirname(folder))
  return (await isMade(folder)) ? [...above, folder] : above
}

/** Creates the folder. Returns false if it exists. */
async function isMade(folder: string): Promise<boolean> {
  try {
    await mkdir(folder, { mode: 0o700 })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !(await stat(folder)).isDirectory()) throw error
    return false
  }
}

type Owner = Readonly<Record<'uid' | 'gid', number>>

/** Gives a file that root creates to the owner of the folder: the server may run as another user than a command. */
export async function giveToOwner(folder: string, give: (owner: Owner) => Promise<void>): Promise<void> {
  if (process.geteuid?.() === 0) await give(await stat(folder))
}

/** Flushes the entries of a folder, so that creations, renames and removals in it are durable. */
export async function flushFolder(folder: string): Promise<void> {
  // Windows has no handles of folders. There the rename is in the journal.
  if (process.platform === 'win32') return
  const handle = await open(folder, 'r')
  await handle.sync().finally(() => handle.close())
}
