/** BlobStore on a folder. An object appears by a rename, so that nobody sees half of one, and is flushed before it does. */
import { randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Blob, BlobInfo, BlobParts, BlobStore } from '../../ports/blob-store.ts'
import { checkBlobKey } from '../../ports/check-blob-key.ts'

/** The content type stands before the bytes: one byte of length, then text. */
const LONGEST_TYPE = 255

export class FilesystemBlobStore implements BlobStore {
  readonly #objects: string
  readonly #unfinished: string

  constructor(folder: string) {
    this.#objects = join(folder, 'objects')
    this.#unfinished = join(folder, 'unfinished')
  }

  async put(key: string, { bytes, contentType }: Blob): Promise<void> {
    const path = this.#path(key)
    await mkdir(this.#unfinished, { recursive: true })
    await this.#place(path, (file) => file.writeFile(Buffer.concat([headOf(contentType), bytes])))
  }

  async get(key: string, range?: readonly [from: number, to: number]): Promise<Blob | undefined> {
    const file = await openIfThere(this.#path(key))
    if (file === undefined) return undefined
    try {
      const { contentType, start } = await readHead(file)
      const size = (await file.stat()).size - start
      const [from, to] = range ?? [0, size]
      const bytes = new Uint8Array(Math.max(0, Math.min(to, size) - from))
      if (bytes.length > 0) await file.read(bytes, 0, bytes.length, start + from)
      return { bytes, contentType }
    } finally {
      await file.close()
    }
  }

  async remove(key: string): Promise<void> {
    await rm(this.#path(key), { force: true })
  }

  async *list(prefix: string): AsyncIterable<BlobInfo> {
    const names = await readdir(this.#objects, { recursive: true, withFileTypes: true }).catch(() => [])
    const keys = names
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(this.#objects.length + 1, -SUFFIX.length))
    for (const key of keys.filter((key) => key.startsWith(prefix)).sort(byCodeUnit)) {
      const { bytes } = (await this.get(key)) ?? {}
      if (bytes !== undefined) yield { key, size: bytes.length }
    }
  }

  async openParts(key: string, contentType: string, id: string = randomUUID()): Promise<BlobParts> {
    const path = this.#path(key)
    const folder = join(this.#unfinished, id)
    await mkdir(folder, { recursive: true })
    return new FilesystemBlobParts(id, folder, (write) => this.#place(path, (file) => write(file, headOf(contentType))))
  }

  async #place(path: string, write: (file: FileHandle) => Promise<void>): Promise<void> {
    await mkdir(dirname(path), { recursive: true })
    await mkdir(this.#unfinished, { recursive: true })
    const partial = join(this.#unfinished, `${randomUUID()}.partial`)
    try {
      await flushed(partial, write)
      await rename(partial, path)
      await flushFolder(dirname(path))
    } finally {
      await rm(partial, { force: true })
    }
  }

  #path(key: string): string {
    checkBlobKey(key)
    // A suffix keeps `a` and `a/b` apart: one is a file, the other lies in a folder.
    return join(this.#objects, `${key}${SUFFIX}`)
  }
}

const SUFFIX = '@'
const SMALLEST_PART = 5 * 1024 * 1024

class FilesystemBlobParts implements BlobParts {
  readonly id: string
  readonly #folder: string
  readonly #place: (write: (file: FileHandle, head: Uint8Array) => Promise<void>) => Promise<void>

  constructor(id: string, folder: string, place: (write: (file: FileHandle, head: Uint8Array) => Promise<void>) => Promise<void>) {
    this.id = id
    this.#folder = folder
    this.#place = place
  }

  async writePart(n: number, bytes: Uint8Array): Promise<string> {
    if (!Number.isInteger(n) || n < 1 || n > 10_000) throw new RangeError('a part has a number from 1 to 10,000')
    await this.#mustBeOpen()
    const tag = randomUUID()
    const partial = join(this.#folder, `${tag}.partial`)
    await flushed(partial, (file) => file.writeFile(bytes))
    for (const name of await readdir(this.#folder)) if (name.startsWith(`${n}.`)) await rm(join(this.#folder, name))
    await rename(partial, join(this.#folder, `${n}.${tag}`))
    return tag
  }

  async complete(parts: readonly { readonly n: number; readonly tag: string }[]): Promise<void> {
    await this.#mustBeOpen()
    const ordered = parts.toSorted((a, b) => a.n - b.n)
    const files = ordered.map(({ n, tag }) => join(this.#folder, `${n}.${tag}`))
    const sizes = await Promise.all(
      files.map((file) =>
        stat(file).then(
          ({ size }) => size,
          () => undefined,
        ),
      ),
    )
    if (sizes.includes(undefined)) throw new Error('a part is missing, or was written again since')
    if (sizes.slice(0, -1).some((size) => size! < SMALLEST_PART)) throw new Error('every part but the last has at least 5 MiB')
    await this.#place(async (file, head) => {
      await file.writeFile(head)
      for (const part of files) await file.appendFile(await readFile(part))
    })
    await rm(this.#folder, { recursive: true, force: true })
  }

  async abort(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true })
  }

  async #mustBeOpen(): Promise<void> {
    if (!(await exists(this.#folder))) throw new Error('the object was completed or aborted')
  }
}

const byCodeUnit = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

function headOf(contentType: string): Uint8Array {
  const text = Buffer.from(contentType)
  if (text.length > LONGEST_TYPE) throw new RangeError(`a content type has at most ${LONGEST_TYPE} bytes`)
  return Buffer.concat([Buffer.from([text.length]), text])
}

async function readHead(file: FileHandle): Promise<{ readonly contentType: string; readonly start: number }> {
  const head = new Uint8Array(LONGEST_TYPE + 1)
  await file.read(head, 0, head.length, 0)
  const length = head[0]!
  return { contentType: Buffer.from(head.subarray(1, 1 + length)).toString(), start: 1 + length }
}

async function flushed(path: string, write: (file: FileHandle) => Promise<void>): Promise<void> {
  const file = await open(path, 'w')
  try {
    await write(file)
    await file.sync()
  } finally {
    await file.close()
  }
}

async function flushFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  await handle.sync()
  await handle.close()
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )
const openIfThere = (path: string): Promise<FileHandle | undefined> =>
  open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
    throw error
  })
