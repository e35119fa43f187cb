/** What a folder holds is for its owner alone, whatever the process's umask is, and whoever made the files. */
import { chmod, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isServerEntry } from './folder-entries.ts'

const OTHERS = 0o077

/**
 * Takes the server's files and folders in it from others; what is deeper nobody can reach any more, however many files that are, and is not looked at.
 * The folder itself stays as somebody made it: a line says that others may look into it, and one for each thing that is not taken from them.
 */
export async function makePrivate(folder: string): Promise<readonly string[]> {
  // Windows has no modes: files are their folder's.
  if (process.platform === 'win32') return []
  const warnings = (await isShared(folder)) ? [`The data folder ${folder} can be read by other users: chmod 700 ${quoted(folder)}`] : []
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    // guard: only-own-files-made-private
    if (!isServerEntry(entry.name)) continue
    if (!(await isShared(path).catch(() => false))) continue
    // guard: link-is-not-made-private
    if (entry.isSymbolicLink()) warnings.push(`${path} leads to what can be read by other users`)
    else if ((entry.isFile() || entry.isDirectory()) && !(await isTaken(path, entry.isFile() ? 0o600 : 0o700)))
      warnings.push(`${path} can be read by other users, and belongs to another`)
  }
  return warnings
}

/** As a shell takes it. */
const quoted = (path: string): string => (/^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`)

const isShared = async (path: string): Promise<boolean> => ((await stat(path)).mode & OTHERS) !== 0

const isTaken = (path: string, mode: number): Promise<boolean> =>
  chmod(path, mode).then(
    () => true,
    () => false,
  )
