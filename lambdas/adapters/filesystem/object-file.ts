/**
 * File of an object in the blob store: a header as a line of JSON, then the bytes. For an object written in parts, a JSON list of the parts
 * follows the header instead of the bytes. The parts stay in the files where they were written.
 */
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Blob } from '../../ports/blobs/blob-store.ts'
import { MachineFault } from '../../ports/faults.ts'
import { isMissing } from './durable-file.ts'

/** `id`: id of the upload that wrote the parts. `size`: bytes of all parts. */
type Joined = { readonly id: string; readonly size: number }
export type ObjectHeader = { readonly key: string; readonly contentType: string; readonly joined?: Joined }

/** Number of a part, and its size in bytes. */
export type PartSize = readonly [n: number, size: number]

/** `size`: bytes of the content. `written`: time of the write, in milliseconds since 1970. */
export type ObjectInfo = { readonly header: ObjectHeader; readonly size: number; readonly written: number }

/** Bytes of the tag with which the file of a part begins. They are not content. */
export const TAG_BYTES = 32
/** Bytes to read so that they include any header: a key has at most 900 characters, and a content type is short. */
const LONGEST_HEADER = 4_096
const NEWLINE = 0x0a

export async function writeHeader(file: FileHandle, header: ObjectHeader): Promise<void> {
  await file.writeFile(`${JSON.stringify(header)}\n`)
}

/** Returns header, size and write time of an object, or undefined if it does not exist. */
export function readObjectInfo(path: string): Promise<ObjectInfo | undefined> {
  return reading(path, async (file) => (await openedOf(file)).info)
}

/**
 * Returns the content, or undefined if the object does not exist. `range`: first byte, and the byte after the last. `parts`: returns the
 * folder of the upload with this id.
 */
export async function readContent(
  path: string,
  range: readonly [from: number, to: number] | undefined,
  parts: (id: string) => string,
): Promise<Blob | undefined> {
  return reading(path, async (file) => {
    const { info, offset } = await openedOf(file)
    const { contentType, joined } = info.header
    const [from, to] = range === undefined ? [0, info.size] : [range[0], Math.min(range[1], info.size)]
    const bytes = Buffer.alloc(Math.max(0, to - from))
    if (joined === undefined) await fill(bytes, file, offset + from, path)
    else await fillFrom(parts(joined.id), await partsIn(file, offset, path), from, bytes)
    return { bytes, contentType }
  })
}

async function reading<Result>(path: string, read: (file: FileHandle) => Promise<Result>): Promise<Result | undefined> {
  let file: FileHandle
  try {
    file = await open(path, 'r')
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
  return read(file).finally(() => file.close())
}

/** Reads the header of an object. `offset`: first byte after the header line. */
async function openedOf(file: FileHandle): Promise<{ readonly info: ObjectInfo; readonly offset: number }> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(LONGEST_HEADER), 0, LONGEST_HEADER, 0)
  const offset = buffer.subarray(0, bytesRead).indexOf(NEWLINE) + 1
  const header = JSON.parse(buffer.toString('utf8', 0, offset)) as ObjectHeader
  const { size, mtimeMs } = await file.stat()
  return { info: { header, size: header.joined?.size ?? size - offset, written: mtimeMs }, offset }
}

async function partsIn(file: FileHandle, offset: number, path: string): Promise<readonly PartSize[]> {
  const bytes = Buffer.alloc((await file.stat()).size - offset)
  await fill(bytes, file, offset, path)
  return JSON.parse(bytes.toString()) as readonly PartSize[]
}

/** Fills `bytes` with the content from byte `from` on, which it reads from the files of the parts. */
async function fillFrom(folder: string, parts: readonly PartSize[], from: number, bytes: Buffer): Promise<void> {
  let begins = 0
  for (const [n, size] of parts) {
    const [first, last] = [Math.max(from, begins), Math.min(from + bytes.length, begins + size)]
    const path = join(folder, String(n))
    if (first < last) await fillOf(path, bytes.subarray(first - from, last - from), TAG_BYTES + first - begins)
    begins += size
  }
}

async function fillOf(path: string, bytes: Buffer, at: number): Promise<void> {
  const file = await open(path, 'r')
  await fill(bytes, file, at, path).finally(() => file.close())
}

async function fill(bytes: Buffer, file: FileHandle, at: number, path: string): Promise<void> {
  for (let filled = 0; filled < bytes.length; ) {
    const { bytesRead } = await file.read(bytes, filled, bytes.length - filled, at + filled)
    if (bytesRead === 0) throw new MachineFault('store-damaged', `${path} is damaged: it is shorter than it was`)
    filled += bytesRead
  }
}
