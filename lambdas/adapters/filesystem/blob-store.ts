/**
 * BlobStore in a folder. An object is a file named by the digest of its key: a line of JSON, then the bytes. So keys may be long,
 * differ only in capitals, or be the folder of another, on every file system.
 */
import { createHash, randomUUID } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Blob, BlobInfo, BlobParts, BlobStore } from '../../ports/blob-store.ts'
import { checkBlobKey } from '../../ports/check-blob-key.ts'
import { FilesystemBlobParts } from './blob-parts.ts'
import { filesIn, isMissing, removeDurably, replaceDurably } from './durable-file.ts'

type Header = { readonly key: string; readonly contentType: string }

/** Longer than any header: a key has 900 characters, a content type few. */
const LONGEST_HEADER = 4_096
const NEWLINE = 0x0a

export class FilesystemBlobStore implements BlobStore {
  readonly #folder: string

  /** `folder`: made when missing. */
  constructor(folder: string) {
    this.#folder = folder
  }

  async put(key: string, { bytes, contentType }: Blob): Promise<void> {
    checkBlobKey(key)
    await this.#write({ key, contentType }, (file) => file.writeFile(bytes))
  }

  async get(key: string, range?: readonly [from: number, to: number]): Promise<Blob | undefined> {
    checkBlobKey(key)
    const file = await openForReading(this.#fileOf(key))
    if (file === undefined) return undefined
    try {
      const { header, offset, size } = await readHeader(file)
      const [from, to] = range === undefined ? [0, size] : [range[0], Math.min(range[1], size)]
      const bytes = Buffer.alloc(Math.max(0, to - from))
      for (let at = 0; at < bytes.length; ) at += (await file.read(bytes, at, bytes.length - at, offset + from + at)).bytesRead
      return { bytes, contentType: header.contentType }
    } finally {
      await file.close()
    }
  }

  async remove(key: string): Promise<void> {
    checkBlobKey(key)
    await removeDurably(this.#fileOf(key))
  }

  async *list(prefix: string): AsyncGenerator<BlobInfo> {
    const found: BlobInfo[] = []
    for (const name of await filesIn(join(this.#folder, 'objects'))) {
      const file = await openForReading(join(this.#folder, 'objects', name))
      if (file === undefined) continue
      const { header, size, written } = await readHeader(file).finally(() => file.close())
      if (header.key.startsWith(prefix)) found.push({ key: header.key, size, written })
    }
    yield* found.sort((a, b) => (a.key < b.key ? -1 : 1))
  }

  async openParts(key: string, contentType: string, id?: string): Promise<BlobParts> {
    checkBlobKey(key)
    if (id !== undefined && !/^[0-9a-f-]{36}$/.test(id)) throw new RangeError('not the id of parts')
    const known = id ?? randomUUID()
    const folder = join(this.#folder, 'parts', known)
    const parts = new FilesystemBlobParts({ id: known, folder, join: (copy) => this.#write({ key, contentType }, copy) })
    if (id === undefined) await parts.begin()
    return parts
  }

  #write(header: Header, fill: (file: FileHandle) => Promise<void>): Promise<void> {
    return replaceDurably(this.#fileOf(header.key), async (file) => {
      await file.writeFile(`${JSON.stringify(header)}\n`)
      await fill(file)
    })
  }

  #fileOf(key: string): string {
    return join(this.#folder, 'objects', createHash('sha256').update(key).digest('hex'))
  }
}

async function openForReading(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'r')
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/** `offset`: where the content begins. `written`: ms since 1970. */
type Opened = { readonly header: Header; readonly offset: number; readonly size: number; readonly written: number }

async function readHeader(file: FileHandle): Promise<Opened> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(LONGEST_HEADER), 0, LONGEST_HEADER, 0)
  const offset = buffer.subarray(0, bytesRead).indexOf(NEWLINE) + 1
  const header = JSON.parse(buffer.toString('utf8', 0, offset)) as Header
  const { size, mtimeMs } = await file.stat()
  return { header, offset, size: size - offset, written: mtimeMs }
}
