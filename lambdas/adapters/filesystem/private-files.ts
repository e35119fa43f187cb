/** What a folder holds is for its owner alone, whatever the process's umask is, and whoever made the files. */
import { chmod, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'

const OTHERS = 0o077
const FILE = 0o600
const FOLDER = 0o700

/**
 * Takes files and folders from others; what is deeper nobody can reach any more. The folder itself stays as somebody made it: a line says
 * that others may look into it, and one for each thing that cannot be taken from them.
 */
export async function makePrivate(folder: string): Promise<readonly string[]> {
  // Windows has no modes: files are their folder's.
  if (process.platform === 'win32') return []
  const isOpen = ((await stat(folder)).mode & OTHERS) !== 0
  const within = await readdir(folder, { withFileTypes: true })
  const above = within.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name))
  const files = within.filter((entry) => entry.isFile()).map(({ name }) => join(folder, name))
  for (const each of above)
    for (const entry of await readdir(each, { withFileTypes: true })) if (entry.isFile()) files.push(join(each, entry.name))
  const shared = [...(await shareable(above, FOLDER)), ...(await shareable(files, FILE))]
  return [
    ...(isOpen ? [`The data folder ${folder} can be read by other users: chmod 700 ${folder}`] : []),
    ...shared.map((path) => `${path} can be read by other users, and belongs to another`),
  ]
}

/** Those that could not be taken from others. */
async function shareable(paths: readonly string[], mode: number): Promise<readonly string[]> {
  const kept: string[] = []
  for (const path of paths) {
    try {
      if (((await stat(path)).mode & OTHERS) !== 0) await chmod(path, mode)
    } catch {
      kept.push(path)
    }
  }
  return kept
}
