/**
 * Appends lines to a file. The bytes of a failed call are cut off when the file is closed. After a crash, an incomplete last line is cut
 * off when the file is opened. `reserve` writes empty lines after the end, which later lines overwrite. So lines with reserved space fit
 * even on a full disk. Closing the file removes the reserved space.
 */
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { flushFolder, makeFolder } from './durable-file.ts'

/** Bytes at the end of the file in which `open` searches the last complete record. If it finds none there, it cuts off nothing. */
const LOOKED_AT = 4_000_000
const RESERVED = 256_000
const NEWLINE = 0x0a

export class AuditFile {
  readonly #file: FileHandle
  /** Offset at which the next line is written. */
  #end: number
  /** Size of the file in bytes, including reserved space. */
  #size: number

  private constructor(file: FileHandle, end: number) {
    this.#file = file
    this.#end = end
    this.#size = end
  }

  /**
   * Opens the file and cuts off everything after its lines. `end`: end of the lines, if known. Otherwise the last complete record is
   * searched.
   */
  static async open(path: string, end?: number): Promise<AuditFile> {
    await makeFolder(dirname(path))
    const file = await open(path, constants.O_RDWR | constants.O_CREAT, 0o600)
    try {
      const { size } = await file.stat()
      // The file may be shorter than `end`, because it was removed or truncated since it was closed.
      const known = end === undefined ? await endOfLines(file, size) : Math.min(end, size)
      // guard: torn-audit-line-is-cut
      if (size > known) await file.truncate(known)
      if (size === 0) await flushFolder(dirname(path))
      return new AuditFile(file, known)
    } catch (error) {
      await file.close()
      throw error
    }
  }

  get end(): number {
    return this.#end
  }

  hasRoomFor(bytes: number): boolean {
    return this.#end + bytes <= this.#size
  }

  async reserve(bytes: number): Promise<void> {
    const more = Math.max(bytes, RESERVED)
    try {
      await writeAt(this.#file, Buffer.alloc(more, NEWLINE), this.#end)
      this.#size = this.#end + more
    } catch (error) {
      await this.#file.truncate(this.#size).catch(() => undefined)
      throw error
    }
  }

  /**
   * Appends the lines. `durably`: the lines are on disk when the call resolves. If the call fails, the caller must close the file, which
   * cuts off bytes already written.
   */
  async append(lines: string, durably: boolean): Promise<void> {
    const bytes = Buffer.from(lines)
    await writeAt(this.#file, bytes, this.#end)
    if (durably) await this.#file.datasync()
    this.#end += bytes.length
    this.#size = Math.max(this.#size, this.#end)
  }

  async close(): Promise<void> {
    await this.#file.truncate(this.#end).finally(() => this.#file.close())
  }
}

async function writeAt(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let written = 0; written < bytes.length; )
    written += (await file.write(bytes, written, bytes.length - written, position + written)).bytesWritten
}

/** Returns the offset after the last line that is JSON. An ended process may have left an incomplete line or reserved space after it. */
async function endOfLines(file: FileHandle, size: number): Promise<number> {
  const from = Math.max(0, size - LOOKED_AT)
  const { buffer: tail } = await file.read(Buffer.alloc(size - from), 0, size - from, from)
  let end = tail.lastIndexOf(NEWLINE) + 1
  while (end > 0 && !isRecord(tail, end)) end = end === 1 ? 0 : tail.lastIndexOf(NEWLINE, end - 2) + 1
  return end === 0 && from > 0 ? size : from + end
}

/** Whether the line that ends before the offset `end` is a record: it is not empty, and is JSON. */
function isRecord(tail: Buffer, end: number): boolean {
  if (end === 1 || tail[end - 2] === NEWLINE) return false
  try {
    JSON.parse(tail.toString('utf8', tail.lastIndexOf(NEWLINE, end - 2) + 1, end))
    return true
  } catch {
    return false
  }
}
