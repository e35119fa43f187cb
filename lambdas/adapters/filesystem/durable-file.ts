/**
 * Files that are there whole or not at all, for their owner alone, and stay there when the machine stops: written aside, flushed, renamed,
 * the folder flushed.
 */
import { randomUUID } from 'node:crypto'
import { chmod, chown, copyFile, type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { DiskFull } from '../../ports/faults/disk-full.ts'

const UNFINISHED = '.unfinished'

/** Errors of a full disk, a used-up quota of the user, or a file at the size limit of the process. */
const FULL: ReadonlySet<string | undefined> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG'])

/** Throws DiskFull if the file has no room. The file at `path` is then as it was. */
export async function replaceDurably(path: string, fill: (file: FileHandle) => Promise<void>): Promise<void> {
  try {
    await replace(path, fill)
  } catch (error) {
    throw FULL.has((error as NodeJS.ErrnoException).code) ? new DiskFull(`the disk has no room for ${path}`, { cause: error }) : error
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

/** A copy that is on disk, for its owner alone; it is no file of its folder yet, which is not flushed. */
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

/** Whether a file of that name is being written, or was by a process that ended. */
export const isUnfinished = (name: string): boolean => name.endsWith(UNFINISHED)

/** The names of the finished files of a folder; none when there is no folder. */
export const filesIn = async (folder: string): Promise<readonly string[]> => (await entriesIn(folder)).filter((name) => !isUnfinished(name))

/** All names; none when there is no folder. */
export async function entriesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

/** The names of what a process that ended left of its work. */
export const unfinishedFilesIn = async (folder: string): Promise<readonly string[]> =>
  (await readdir(folder, { withFileTypes: true })).filter((entry) => entry.isFile() && isUnfinished(entry.name)).map(({ name }) => name)

export const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT'

/** A new folder is an entry of the one above it, which has to be flushed as well. */
export async function makeFolder(folder: string): Promise<void> {
  const made = await makeFolders(resolve(folder))
  for (const each of made) await giveToOwner(dirname(each), ({ uid, gid }) => chown(each, uid, gid))
  for (const each of made) await flushFolder(dirname(each))
}

/** Those it made, the highest first. Node's own asks forever where the system will not make one, as below /proc. */
export async function makeFolders(folder: string): Promise<readonly string[]> {
  try {
    return (await isMade(folder)) ? [folder] : []
  } catch (error) {
    if (!isMissing(error) || dirname(folder) === folder) throw error
  }
  const above = await makeFolders(dirname(folder))
  return (await isMade(folder)) ? [...above, folder] : above
}

/** false: it was there. */
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

/** What root makes in a folder is its owner's: the server may run as another user than a command does. */
export async function giveToOwner(folder: string, give: (owner: Owner) => Promise<void>): Promise<void> {
  if (process.geteuid?.() === 0) await give(await stat(folder))
}

/** Its entries: what was made, renamed and removed in it stays so. */
export async function flushFolder(folder: string): Promise<void> {
  // Windows has no handles of folders; there the rename is in the journal.
  if (process.platform === 'win32') return
  const handle = await open(folder, 'r')
  await handle.sync().finally(() => handle.close())
}
