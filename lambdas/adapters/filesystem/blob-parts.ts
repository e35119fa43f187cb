/**
 * Parts of a blob: one file per number in a folder of their own. They stay there when the blob is complete.
 *
 *   of          the key
 *   begun       parts may be written
 *   completing  no more parts: the object's file is being written, or was, by a process that ended before it removed this file
 *   1, 2 …      parts: the tag, then the bytes
 *
 * Without `begun` and `completing` the parts belong to an object or are abandoned. The object's file decides. It is written and removed
 * in one step.
 */
import { randomBytes } from 'node:crypto'
import { access, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { BlobParts } from '../../ports/blobs/blob-store.ts'
import { isMissing, removeDurably, replaceDurably } from './durable-file.ts'
import { type PartSize, TAG_BYTES } from './object-file.ts'

export type FilesystemBlobPartsOptions = {
  readonly id: string
  readonly key: string
  readonly folder: string
  /** Object at the key. */
  readonly object: {
    /** Creates the object from these parts. */
    readonly join: (parts: readonly PartSize[]) => Promise<void>
    /** Whether the object was created from these parts. */
    readonly isJoined: () => Promise<boolean>
    /** Removes the file of the object, but not the parts. */
    readonly remove: () => Promise<void>
  }
}

type Part = { readonly n: number; readonly tag: string }

/** Limit of S3, so that code that works here also works there. */
const SMALLEST_PART = 5 * 1024 * 1024
const MOST_PARTS = 10_000
const [OF, BEGUN, COMPLETING] = ['of', 'begun', 'completing']
/** Suffix of a folder that is being removed. */
const GONE = '.gone'

export class FilesystemBlobParts implements BlobParts {
  readonly #options: FilesystemBlobPartsOptions

  constructor(options: FilesystemBlobPartsOptions) {
    this.#options = options
  }

  get id(): string {
    return this.#options.id
  }

  /** Whether the parts belong to an object. */
  isJoined(): Promise<boolean> {
    return this.#options.object.isJoined()
  }

  async begin(): Promise<void> {
    await replaceDurably(this.#path(OF), (file) => file.writeFile(this.#options.key))
    await replaceDurably(this.#path(BEGUN), async () => {})
  }

  async writePart(n: number, bytes: Uint8Array): Promise<string> {
    if (!Number.isInteger(n) || n < 1 || n > MOST_PARTS) throw new RangeError(`part ${n} is not one of 1 to ${MOST_PARTS}`)
    await access(this.#path(BEGUN))
    const tag = randomBytes(TAG_BYTES)
    await replaceDurably(this.#path(String(n)), async (file) => {
      await file.writeFile(tag)
      await file.writeFile(bytes)
    })
    return tag.toString('hex')
  }

  async complete(parts: readonly Part[]): Promise<void> {
    if (parts.length === 0) throw new RangeError('an object has at least one part')
    const { object } = this.#options
    await this.#endWriting()
    try {
      await object.join(await this.#sizesOf(parts.toSorted((a, b) => a.n - b.n)))
    } catch (error) {
      await rename(this.#path(COMPLETING), this.#path(BEGUN)).catch(() => undefined)
      throw error
    }
    // A concurrent abort may not have seen the object, so the object is removed.
    if (!(await isThere(this.#path(OF)))) {
      await object.remove()
      throw new Error('the parts were aborted')
    }
    await removeDurably(this.#path(COMPLETING))
    await this.#leave(parts)
  }

  /**
   * Aborts the parts, unless an object uses them. Also removes the rest of parts from a process that ended while it removed them or their
   * object.
   */
  async abort(): Promise<void> {
    const { folder } = this.#options
    const gone = `${folder}${GONE}`
    if (await this.isJoined()) return this.#keep()
    await unlessMissing(rename(folder, gone))
    // A concurrent completion may not have seen the abort.
    if (await this.isJoined()) return this.#keep()
    await removeDurably(gone)
  }

  /** Retains the parts, because an object uses them. */
  async #keep(): Promise<void> {
    const { folder } = this.#options
    if (!(await isThere(folder))) await unlessMissing(rename(`${folder}${GONE}`, folder))
    for (const word of [BEGUN, COMPLETING]) await removeDurably(this.#path(word))
  }

  /** Removes all files but the key and the parts of the object. No reader needs the others. */
  async #leave(parts: readonly Part[]): Promise<void> {
    const left = new Set([OF, ...parts.map(({ n }) => String(n))])
    for (const name of await readdir(this.#options.folder)) if (!left.has(name)) await rm(this.#path(name), { force: true })
  }

  /** Ends the writing of parts. An earlier process may have done so before it ended. */
  async #endWriting(): Promise<void> {
    try {
      await rename(this.#path(BEGUN), this.#path(COMPLETING))
    } catch (error) {
      if (!isMissing(error)) throw error
      await access(this.#path(COMPLETING))
    }
  }

  async #sizesOf(parts: readonly Part[]): Promise<readonly PartSize[]> {
    const sizes: PartSize[] = []
    for (const part of parts) sizes.push([part.n, await this.#sizeOf(part, part === parts.at(-1))])
    return sizes
  }

  async #sizeOf({ n, tag }: Part, isLast: boolean): Promise<number> {
    const file = await open(this.#path(String(n)), 'r')
    try {
      const { buffer } = await file.read(Buffer.alloc(TAG_BYTES), 0, TAG_BYTES, 0)
      if (buffer.toString('hex') !== tag) throw new Error(`part ${n} was written again: its tag is another`)
      const size = (await file.stat()).size - TAG_BYTES
      if (!isLast && size < SMALLEST_PART) throw new Error(`part ${n} is smaller than ${SMALLEST_PART} bytes and not the last`)
      return size
    } finally {
      await file.close()
    }
  }

  #path(name: string): string {
    return join(this.#options.folder, name)
  }
}

/** Returns the key of a folder of parts, or undefined if a process ended before it wrote the key. */
export const keyOfParts = (folder: string): Promise<string | undefined> => unlessMissing(readFile(join(folder, OF), 'utf8'))

/** Returns the id of parts from a name in the folder of all parts, even while they are being removed. */
export const idOfParts = (name: string): string | undefined => /^([0-9a-f-]{36})(?:\.gone)?$/.exec(name)?.[1]

async function unlessMissing<Result>(work: Promise<Result>): Promise<Result | undefined> {
  try {
    return await work
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

const isThere = async (path: string): Promise<boolean> => (await unlessMissing(stat(path))) !== undefined
