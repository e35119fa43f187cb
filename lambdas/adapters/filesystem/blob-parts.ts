/** The parts of an unfinished blob: one file per number in a folder of their own, joined when they are complete. */
import { createHash } from 'node:crypto'
import { access, type FileHandle, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { BlobParts } from '../../ports/blob-store.ts'
import { removeDurably, replaceDurably } from './durable-file.ts'

export type FilesystemBlobPartsOptions = {
  readonly id: string
  readonly folder: string
  /** Makes the object out of what `copy` writes, or nothing when that fails. */
  readonly join: (copy: (file: FileHandle) => Promise<void>) => Promise<void>
}

type Part = { readonly n: number; readonly tag: string }

/** As S3 has it, so that what works here works there. */
const SMALLEST_PART = 5 * 1024 * 1024
const MOST_PARTS = 10_000
/** Without this file the parts were completed, aborted, or never there. */
const BEGUN = 'begun'

export class FilesystemBlobParts implements BlobParts {
  readonly #options: FilesystemBlobPartsOptions

  constructor(options: FilesystemBlobPartsOptions) {
    this.#options = options
  }

  get id(): string {
    return this.#options.id
  }

  async begin(): Promise<void> {
    await replaceDurably(join(this.#options.folder, BEGUN), async () => {})
  }

  async writePart(n: number, bytes: Uint8Array): Promise<string> {
    if (!Number.isInteger(n) || n < 1 || n > MOST_PARTS) throw new RangeError(`part ${n} is not one of 1 to ${MOST_PARTS}`)
    await access(join(this.#options.folder, BEGUN))
    await replaceDurably(this.#fileOf(n), (file) => file.writeFile(bytes))
    return tagOf(bytes)
  }

  async complete(parts: readonly Part[]): Promise<void> {
    if (parts.length === 0) throw new RangeError('an object has at least one part')
    const ordered = parts.toSorted((a, b) => a.n - b.n)
    await this.#options.join(async (file) => {
      for (const part of ordered) await file.writeFile(await this.#read(part, part === ordered.at(-1)))
    })
    await this.abort()
  }

  async abort(): Promise<void> {
    await removeDurably(this.#options.folder)
  }

  async #read({ n, tag }: Part, isLast: boolean): Promise<Uint8Array> {
    const bytes = await readFile(this.#fileOf(n))
    if (tagOf(bytes) !== tag) throw new Error(`part ${n} was written again: its tag is another`)
    if (!isLast && bytes.length < SMALLEST_PART) throw new Error(`part ${n} is smaller than ${SMALLEST_PART} bytes and not the last`)
    return bytes
  }

  #fileOf(n: number): string {
    return join(this.#options.folder, String(n))
  }
}

const tagOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
