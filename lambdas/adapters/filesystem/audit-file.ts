/**
 * Appends lines to a file, each call wholly or not at all. Space may be reserved as empty lines behind the end, which later lines
 * overwrite. So a full disk still has room for them. Closing the file removes the reserved space.
 */
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { flushFolder, makeFolder } from './durable-file.ts'

/**
 * Bytes from the end in which the last whole line is searched. Neither the reserved space nor the writes between two flushes exceed them.
 */
const LOOKED_AT = 4_000_000
const RESERVED = 256_000
const NEWLINE = 0x0a

export class AuditFile {
  readonly #file: FileHandle
  /** Offset of the next line. */
  #end: number
  /** Size of the file, including reserved space. */
  #size: number

  private constructor(file: FileHandle, end: number) {
    this.#file = file
    this.#end = end
    this.#size = end
  }

  /** Opens the file. `end`: end of its lines, if known. Otherwise the rest that a process left behind the last whole line is cut off. */
  static async open(path: string, end?: number): Promise<AuditFile> {
    await makeFolder(dirname(path))
    const file = await open(path, constants.O_RDWR | constants.O_CREAT, 0o600)
    try {
      const { size } = await file.stat()
      // The file may have been removed or truncated meanwhile.
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

  /** Appends the lines. `durably`: they are on disk when it resolves. If it fails, nothing was added and the file must be closed. */
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

/** Returns the end of the last line that is JSON. A process that ended left unfinished lines or reserved space after it. */
async function endOfLines(file: FileHandle, size: number): Promise<number> {
  const from = Math.max(0, size - LOOKED_AT)
  const { buffer: tail } = await file.read(Buffer.alloc(size - from), 0, size - from, from)
  let end = tail.lastIndexOf(NEWLINE) + 1
  while (end > 0 && !isRecord(tail, end)) end = end === 1 ? 0 : tail.lastIndexOf(NEWLINE, end - 2) + 1
  return end === 0 && from > 0 ? size : from + end
}

/** Whether the line that ends at `end` is a record. */
function isRecord(tail: Buffer, end: number): boolean {
  if (end === 1 || tail[end - 2] === NEWLINE) return false
  try {
    JSON.parse(tail.toString('utf8', tail.lastIndexOf(NEWLINE, end - 2) + 1, end))
    return true
  } catch {
    return false
  }
}
