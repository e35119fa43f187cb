/**
 * Backup of a whole data folder: copies of its files, and a list of their checksums. The list is written last, so a folder without it is
 * an unfinished backup.
 */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { chown, open, readdir, readFile, stat } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { copyDurably, flushFolder, giveToOwner, isMissing, isUnfinished, makeFolder, replaceDurably } from './durable-file.ts'

/** Folder that is an incomplete backup, or has a damaged file. */
export class BackupError extends Error {}

/** `path`: below the folder, with slashes. */
export type ListedFile = { readonly path: string; readonly size: number; readonly sha256: string }

const LIST = 'backup.json'
const FORMAT = 'fhir-backup-1'
/** Lock of the packages. It belongs to running processes. */
const LOCK = 'lock.db'

/**
 * Copies a file, or a folder with all that it contains. Leaves out unfinished files, and files that are removed meanwhile. Does nothing if
 * the file or folder does not exist.
 */
export async function copyEntry(from: string, to: string): Promise<void> {
  try {
    if ((await stat(from)).isDirectory()) {
      await makeFolder(to)
      for (const name of await readdir(from)) if (!isUnfinished(name) && name !== LOCK) await copyEntry(join(from, name), join(to, name))
    } else await copyDurably(from, to)
  } catch (error) {
    if (!isMissing(error)) throw error
  }
}

/** Completes a backup: flushes its files and folders, then writes the list of its files. */
export async function writeList(backup: string): Promise<void> {
  const entries = await readdir(backup, { recursive: true, withFileTypes: true })
  const files: ListedFile[] = []
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isDirectory()) await flushFolder(path)
    else await flushFile(path)
    if (entry.isFile()) files.push({ path: relative(backup, path).split(sep).join('/'), ...(await digestOf(path)) })
  }
  await flushFolder(dirname(backup))
  const list = { format: FORMAT, at: new Date().toISOString(), files }
  await replaceDurably(join(backup, LIST), (file) => file.writeFile(`${JSON.stringify(list, null, 2)}\n`))
}

async function flushFile(path: string): Promise<void> {
  const file = await open(path, 'r+')
  await file.sync().finally(() => file.close())
}

/** Returns the files of a backup. Throws BackupError if it is incomplete or from a newer version of the server. */
export async function readList(backup: string): Promise<readonly ListedFile[]> {
  const text = await readFile(join(backup, LIST), 'utf8').catch((error) => {
    if (isMissing(error)) throw new BackupError(`${backup} is an incomplete backup: ${LIST} is missing`)
    throw error
  })
  const list = parse(text)
  if (typeof list?.format === 'string' && list.format !== FORMAT)
    throw new BackupError(`${backup} was written by a newer version of this server`)
  if (!Array.isArray(list?.files) || !list.files.every(isListed)) throw new BackupError(`${join(backup, LIST)} is damaged`)
  return list.files
}

type Parsed = { readonly format?: unknown; readonly files?: unknown } | null | undefined

function parse(text: string): Parsed {
  try {
    return JSON.parse(text) as Parsed
  } catch {
    return undefined
  }
}

function isListed(file: unknown): file is ListedFile {
  const { path, size, sha256 } = (file ?? {}) as Partial<ListedFile>
  return typeof path === 'string' && isBelow(path) && Number.isSafeInteger(size) && typeof sha256 === 'string'
}

/** Whether the path stays in the folder that it is joined to. The list may come from another machine. */
const isBelow = (path: string): boolean => !path.split(/[/\\]/).some((name) => name === '' || name === '.' || name === '..')

/**
 * Copies a file of a backup into a folder, under its path or another `name`, and verifies the copy. Throws BackupError if the file is
 * missing or damaged.
 */
export async function copyListed(backup: string, { path, size, sha256 }: ListedFile, folder: string, name = path): Promise<void> {
  const [from, to] = [join(backup, path), join(folder, name)]
  await makeFolder(dirname(to))
  await copyDurably(from, to).catch((error) => {
    if (isMissing(error)) throw new BackupError(`${from} is missing: the backup cannot be restored`)
    throw error
  })
  const found = await digestOf(to)
  // guard: restored-file-is-verified
  if (found.size !== size || found.sha256 !== sha256) throw new BackupError(`${from} is damaged: the backup cannot be restored`)
  await giveToOwner(folder, ({ uid, gid }) => chown(to, uid, gid))
  await flushFolder(dirname(to))
}

async function digestOf(file: string): Promise<Omit<ListedFile, 'path'>> {
  const hash = createHash('sha256')
  let size = 0
  await pipeline(createReadStream(file), async (chunks: AsyncIterable<Buffer>) => {
    for await (const chunk of chunks) {
      size += chunk.length
      hash.update(chunk)
    }
  })
  return { size, sha256: hash.digest('hex') }
}
