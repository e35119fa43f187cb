/**
 * Parts of a blob: one file per part in a folder of the upload. The files stay there after the blob is complete, because its object refers
 * to them.
 *
 *   of          file with the key of the blob
 *   begun       present while parts may be written
 *   completing  present instead of `begun` while the object's file is being written; an ended process may have left it
 *   1, 2 …      files of the parts: the tag, then the bytes
 *
 * A folder without `begun` and `completing` belongs to an object or is abandoned. It belongs to an object if the object's file names it.
 * That file is written and removed atomically.
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
  /** Access to the object at the key. */
  readonly object: {
    /** Writes the file of the object, which then consists of these parts. */
    readonly join: (parts: readonly PartSize[]) => Promise<void>
    /** Whether the object at the key consists of these parts. */
    readonly isJoined: () => Promise<boolean>
    /** Removes the file of the object, but not the parts. */
    readonly remove: () => Promise<void>
  }
}

type Part = { readonly n: number; readonly tag: string }

/** Minimum bytes of every part but the last. It is the limit of S3, so that callers that work here also work with S3. */
const SMALLEST_PART = 5 * 1024 * 1024
const MOST_PARTS = 10_000
const [OF, BEGUN, COMPLETING] = ['of', 'begun', 'completing']
/** Suffix of the name of a folder of parts that is being removed. */
const GONE = '.gone'

export class FilesystemBlobParts implements BlobParts {
  readonly #options: FilesystemBlobPartsOptions

  constructor(options: FilesystemBlobPartsOptions) {
    this.#options = options
  }

  get id(): string {
    return this.#options.id
  }

  /** Whether the object at the key consists of these parts. */
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
    // A concurrent abort removed the folder before it saw the object. Then the object has no parts, so it is removed as well.
    if (!(await isThere(this.#path(OF)))) {
      await object.remove()
      throw new Error('the parts were aborted')
    }
    await removeDurably(this.#path(COMPLETING))
    await this.#leave(parts)
  }

  /** Removes the parts, unless an object uses them. Also finishes a removal that an ended process began. */
  async abort(): Promise<void> {
    const { folder } = this.#options
    const gone = `${folder}${GONE}`
    if (await this.isJoined()) return this.#keep()
    await unlessMissing(rename(folder, gone))
    // A concurrent completion may have created the object after the first check. Then its parts must remain.
    if (await this.isJoined()) return this.#keep()
    await removeDurably(gone)
  }

  /** Restores the folder if an abort renamed it, because an object uses the parts. Also marks the parts as complete. */
  async #keep(): Promise<void> {
    const { folder } = this.#options
    if (!(await isThere(folder))) await unlessMissing(rename(`${folder}${GONE}`, folder))
    for (const word of [BEGUN, COMPLETING]) await removeDurably(this.#path(word))
  }

  /** Removes all files of the folder but the key and the parts of the object. */
  async #leave(parts: readonly Part[]): Promise<void> {
    const left = new Set([OF, ...parts.map(({ n }) => String(n))])
    for (const name of await readdir(this.#options.folder)) if (!left.has(name)) await rm(this.#path(name), { force: true })
  }

  /** Ends the writing of parts: replaces `begun` by `completing`. An earlier process may have done so before it ended. */
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

/** Returns the key of the upload in a folder, or undefined if a process ended before it wrote the key. */
export const keyOfParts = (folder: string): Promise<string | undefined> => unlessMissing(readFile(join(folder, OF), 'utf8'))

/** Returns the upload id in the name of a folder of parts, also while it is being removed. Returns undefined for any other name. */
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
