/**
 * Entries that a server has in its data folder, and their kinds. They are checked before any file but the lock is opened, so that a wrong
 * entry is reported in one line.
 */
import { access, constants, lstat, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isMissing } from './durable-file.ts'

/** Error with a message of one line for the operator. */
export class DataFolderError extends Error {}

const withLogs = (name: string): readonly string[] => ['', '-wal', '-shm'].map((end) => name + end)

type Kind = 'file' | 'folder'

const ENTRIES: Readonly<Record<Kind, readonly string[]>> = {
  file: ['key', 'address', 'base-urls', ...['store.db', 'index.db', 'index.db.next', 'grants.db', 'exports.db'].flatMap(withLogs)],
  folder: [
    'audit',
    ...['blobs', 'exports', 'disclosures'].flatMap((name) => [name, `${name}/objects`, `${name}/parts`]),
    'signing-keys',
    'packages',
    'usage',
  ],
}

/**
 * Whether the server, or an earlier version of it, uses this name. Includes unfinished files. The server does not touch other files in the
 * folder.
 */
export const isServerEntry = (name: string): boolean =>
  /^(?:(?:key|address|base-urls)(?:\..+\.unfinished)?|socket|lock|audit|blobs|exports|packages|signing-keys|usage|disclosures|(?:lock|store|index|restored|grants|exports)\.db.*)$/.test(
    name,
  )

/**
 * Throws DataFolderError for the first entry that has the wrong kind, cannot be read and written, or is a link without a target. A missing
 * entry is accepted.
 */
export async function checkEntries(folder: string): Promise<void> {
  for (const kind of ['folder', 'file'] as const) for (const name of ENTRIES[kind]) await checkEntry(join(folder, name), kind)
}

export async function checkEntry(path: string, kind: Kind): Promise<void> {
  const fault = await faultOf(path, kind)
  if (fault !== undefined) throw new DataFolderError(`${path} ${fault}`)
}

async function faultOf(path: string, kind: Kind): Promise<string | undefined> {
  try {
    const found = await stat(path)
    if (!(kind === 'file' ? found.isFile() : found.isDirectory())) return `is not a ${kind}: move it away`
    await access(path, constants.R_OK | constants.W_OK | (kind === 'file' ? 0 : constants.X_OK))
    return undefined
  } catch (error) {
    if (!isMissing(error)) return `cannot be read and written (${(error as NodeJS.ErrnoException).code})`
    return (await isLink(path)) ? 'is a link that leads nowhere' : undefined
  }
}

/** Whether the path is a link. An entry that another process creates in between is none. */
const isLink = (path: string): Promise<boolean> =>
  lstat(path).then(
    (found) => found.isSymbolicLink(),
    () => false,
  )
