/**
 * BlobStore in a folder. Files are named by the digest of the key. So keys may be long, differ only in case, or contain another key as a
 * prefix, on every file system.
 */
import { createHash, randomUUID } from 'node:crypto'
import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { checkBlobKey } from '../../ports/blobs/blob-key.ts'
import type { Blob, BlobInfo, BlobParts, BlobStore } from '../../ports/blobs/blob-store.ts'
import { MachineFault } from '../../ports/faults.ts'
import { FilesystemBlobParts, idOfParts, keyOfParts } from './blob-parts.ts'
import { entriesIn, filesIn, isMissing, isUnfinished, removeDurably, replaceDurably } from './durable-file.ts'
import { type ObjectHeader, type ObjectInfo, type PartSize, readContent, readObjectInfo, writeHeader } from './object-file.ts'

/** Age in milliseconds from which unfinished files, and folders of parts without a key, are abandoned and removed. */
const DAY = 24 * 60 * 60 * 1000
/** Maximum attempts to read an object, which may be replaced or removed meanwhile. After that a missing part means damage. */
const READS = 3

export class FilesystemBlobStore implements BlobStore {
  readonly #folder: string

  /** `folder`: created if missing. */
  constructor(folder: string) {
    this.#folder = folder
  }

  async put(key: string, { bytes, contentType }: Blob): Promise<void> {
    checkBlobKey(key)
    await this.#replace({ key, contentType }, bytes)
  }

  async get(key: string, range?: readonly [from: number, to: number]): Promise<Blob | undefined> {
    checkBlobKey(key)
    const path = this.#fileOf(key)
    for (let read = 1; ; read++) {
      try {
        return await readContent(path, range, (id) => this.#partsOf(id))
      } catch (error) {
        if (!isMissing(error)) throw error
        if (read === READS) throw new MachineFault('store-damaged', `${path} is damaged: a part of it is missing`, { cause: error })
      }
    }
  }

  async remove(key: string): Promise<void> {
    checkBlobKey(key)
    const known = await readObjectInfo(this.#fileOf(key))
    await removeDurably(this.#fileOf(key))
    await this.#leaveParts(known)
  }

  async *list(prefix: string, after = ''): AsyncGenerator<BlobInfo> {
    const found: BlobInfo[] = []
    for (const name of await filesIn(join(this.#folder, 'objects'))) {
      const known = await readObjectInfo(join(this.#folder, 'objects', name))
      if (known === undefined) continue
      const { key } = known.header
      if (key.startsWith(prefix) && key > after) found.push({ key, size: known.size, written: known.written })
    }
    yield* found.sort((a, b) => (a.key < b.key ? -1 : 1))
  }

  async openParts(key: string, contentType: string, id?: string): Promise<BlobParts> {
    checkBlobKey(key)
    if (id !== undefined && idOfParts(id) !== id) throw new RangeError('not the id of parts')
    const parts = this.#parts(key, contentType, id ?? randomUUID())
    if (id === undefined) await parts.begin()
    return parts
  }

  async *unfinished(prefix: string): AsyncGenerator<string> {
    const found = new Set<string>()
    for await (const { key, parts } of this.#known(prefix)) if (!(await parts.isJoined())) found.add(key)
    yield* [...found].sort()
  }

  async abortParts(prefix: string): Promise<void> {
    for await (const { parts } of this.#known(prefix)) await parts.abort()
    await this.#sweep()
  }

  /** Yields the uploads whose key has the prefix, including those of complete objects. */
  async *#known(prefix: string): AsyncGenerator<{ readonly key: string; readonly parts: FilesystemBlobParts }> {
    const folder = join(this.#folder, 'parts')
    for (const name of await entriesIn(folder)) {
      const [id, key] = [idOfParts(name), await keyOfParts(join(folder, name))]
      if (id !== undefined && key?.startsWith(prefix)) yield { key, parts: this.#parts(key, '', id) }
    }
  }

  /** Removes abandoned folders of parts without a key, and abandoned unfinished files. An ended process left them. */
  async #sweep(): Promise<void> {
    const [parts, objects] = ['parts', 'objects'].map((name) => join(this.#folder, name)) as [string, string]
    for (const name of await entriesIn(parts))
      if (idOfParts(name) !== undefined && (await keyOfParts(join(parts, name))) === undefined) await removeWhenOld(join(parts, name))
    for (const name of await entriesIn(objects)) if (isUnfinished(name)) await removeWhenOld(join(objects, name))
  }

  #parts(key: string, contentType: string, id: string): FilesystemBlobParts {
    const file = this.#fileOf(key)
    const object = {
      join: (parts: readonly PartSize[]) => {
        const size = parts.reduce((sum, [, bytes]) => sum + bytes, 0)
        return this.#replace({ key, contentType, joined: { id, size } }, JSON.stringify(parts))
      },
      // guard: joined-parts-belong-to-the-upload
      isJoined: async () => (await readObjectInfo(file))?.header.joined?.id === id,
      remove: () => removeDurably(file),
    }
    return new FilesystemBlobParts({ id, key, folder: this.#partsOf(id), object })
  }

  async #replace(header: ObjectHeader, content: Uint8Array | string): Promise<void> {
    const path = this.#fileOf(header.key)
    const known = await readObjectInfo(path)
    await replaceDurably(path, async (file) => {
      await writeHeader(file, header)
      await file.writeFile(content)
    })
    if (known?.header.joined?.id !== header.joined?.id) await this.#leaveParts(known)
  }

  /** Removes the parts of an object after it was replaced or removed. */
  async #leaveParts(known: ObjectInfo | undefined): Promise<void> {
    if (known?.header.joined !== undefined) await this.#parts(known.header.key, '', known.header.joined.id).abort()
  }

  #partsOf(id: string): string {
    return join(this.#folder, 'parts', id)
  }

  #fileOf(key: string): string {
    return join(this.#folder, 'objects', createHash('sha256').update(key).digest('hex'))
  }
}

async function removeWhenOld(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined)
  if (found !== undefined && Date.now() - found.mtimeMs > DAY) await rm(path, { recursive: true, force: true })
}
