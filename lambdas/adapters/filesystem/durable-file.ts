/**
 * Writes files that exist completely or not at all, are private to their owner, and survive a crash of the machine. A file is written under
 * another name, flushed and renamed. Then its folder is flushed.
 */
import { randomUUID } from 'node:crypto'
import { chmod, chown, copyFile, type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { MachineFault } from '../../ports/faults.ts'

const UNFINISHED = '.unfinished'

/** Error codes of a full disk, an exceeded disk quota, and a file at the size limit of the process. */
const FULL: ReadonlySet<string | undefined> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG'])

/**
 * Replaces the file at `path` by what `fill` writes. Throws the fault `disk-full` if the file does not fit. The previous file is then
 * unchanged.
 */
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

/** Copies a file and flushes it, private to its owner. The caller must flush the folder, or a crash may lose the new entry. */
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

/** Whether a file of this name is being written, or was left by an ended process. */
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

/** Returns the names of unfinished files in a folder. They are being written, or were left by an ended process. */
export const unfinishedFilesIn = async (folder: string): Promise<readonly string[]> =>
  (await readdir(folder, { withFileTypes: true })).filter((entry) => entry.isFile() && isUnfinished(entry.name)).map(({ name }) => name)

export const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT'

/** Creates the folder and its missing parents. Flushes the parent of each new folder, so that the new entry survives a crash. */
export async function makeFolder(folder: string): Promise<void> {
  const made = await makeFolders(resolve(folder))
  for (const each of made) await giveToOwner(dirname(each), ({ uid, gid }) => chown(each, uid, gid))
  for (const each of made) await flushFolder(dirname(each))
}

/**
 * Creates the folder and its missing parents. Returns the created folders, highest first. It replaces the recursive mkdir of Node, which
 * never ends where the system forbids a folder, as below /proc.
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

/** Creates the folder and returns true. Returns false if it exists. */
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

/**
 * Calls `give` with the owner of the folder if this process is root. A command may run as root, but the server must be able to open the
 * files that it creates.
 */
export async function giveToOwner(folder: string, give: (owner: Owner) => Promise<void>): Promise<void> {
  if (process.geteuid?.() === 0) await give(await stat(folder))
}

/** Flushes a folder. Creations, renames and removals in it then survive a crash. */
export async function flushFolder(folder: string): Promise<void> {
  // Windows cannot open a folder. Its file system journals renames.
  if (process.platform === 'win32') return
  const handle = await open(folder, 'r')
  await handle.sync().finally(() => handle.close())
}
