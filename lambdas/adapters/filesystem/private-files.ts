/** Makes the content of a data folder private to its owner, regardless of the umask and of the user that created the files. */
import { chmod, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isServerEntry } from './folder-entries.ts'

const OTHERS = 0o077

/**
 * Removes the access of other users to the server's entries of a data folder. Files in subfolders are then unreachable and are not checked.
 * The mode of the data folder itself does not change. Returns a warning if others can read it, and one for each entry that others can still
 * read.
 */
export async function makePrivate(folder: string): Promise<readonly string[]> {
  // Windows has no file modes. Files inherit the permissions of their folder.
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

/** Returns the path, quoted for a shell if necessary. */
const quoted = (path: string): string => (/^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`)

const isShared = async (path: string): Promise<boolean> => ((await stat(path)).mode & OTHERS) !== 0

const isTaken = (path: string, mode: number): Promise<boolean> =>
  chmod(path, mode).then(
    () => true,
    () => false,
  )
