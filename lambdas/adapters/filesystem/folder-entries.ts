/** What a data folder may hold, as what: looked at before anything but the lock is opened, so that whatever stands in the place of another is told in a line. */
import { access, constants, lstat, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isMissing } from './durable-file.ts'

/** One clear line for the person who starts the server. */
export class DataFolderError extends Error {}

const withLogs = (name: string): readonly string[] => ['', '-wal', '-shm'].map((end) => name + end)

type Kind = 'file' | 'folder'

const ENTRIES: Readonly<Record<Kind, readonly string[]>> = {
  file: ['key', 'address', 'base-urls', ...['store.db', 'index.db', 'index.db.next', 'grants.db', 'exports.db'].flatMap(withLogs)],
  folder: ['audit', ...['blobs', 'exports'].flatMap((name) => [name, `${name}/objects`, `${name}/parts`]), 'signing-keys', 'packages'],
}

/** With what a version before this one left, and what is not finished. Somebody may name a folder that holds other things: those are theirs. */
export const isServerEntry = (name: string): boolean =>
  /^(?:(?:key|address|base-urls)(?:\..+\.unfinished)?|socket|lock|audit|blobs|exports|packages|signing-keys|(?:lock|store|index|restored|grants|exports)\.db.*)$/.test(
    name,
  )

/** DataFolderError for the first that is something else, cannot be read and written, or is a link that leads nowhere. */
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

const isLink = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  )
