/**
 * Writes lines into the files of a job, for one of many writers. Lines that fill a part become a part of the upload. The other lines of all
 * files become a tail: a temporary blob that the checkpoint names. Nothing is overwritten. If a checkpoint is rejected, no checkpoint ever
 * names the parts and tails written for it.
 */
import { type Job, temporaryKeyOf } from '../job/job.ts'
import type { TailBlob, WrittenFile, WrittenFiles } from '../plan/segment.ts'
import type { ExportParts } from '../step-types.ts'
import { LineBuffer } from './line-buffer.ts'
import { FileUpload, MIN_PART_BYTES, PART_BYTES } from './multipart-uploads.ts'

/**
 * Bytes of lines of all files above which `flush` writes them out of memory, small remainders into a tail. Lines added between two flushes
 * may exceed it.
 */
export const MAX_HELD_BYTES = 48 * 1024 * 1024

type File = { -readonly [Field in keyof WrittenFile]: WrittenFile[Field] } & { readonly upload: FileUpload; readonly lines: LineBuffer }

type Parts = Pick<ExportParts, 'rows' | 'blobs' | 'newId' | 'maxFileBytes'>

export class FileWriter {
  readonly #parts: Parts
  readonly #job: string
  readonly #files = new Map<string, File>()
  /** Tails that every later checkpoint names. They contain none of the lines held in memory. */
  #tails: readonly TailBlob[]
  /**
   * Tail of this writer's last checkpoint. Its lines are still held in memory, so the next checkpoint writes them again and replaces it.
   */
  #last: TailBlob | undefined
  #heldBytes = 0

  /** Continues from a checkpoint. */
  constructor(parts: Parts, { id }: Pick<Job, 'id'>, { files, tails }: WrittenFiles) {
    this.#parts = parts
    this.#job = id
    this.#tails = tails
    for (const [name, file] of Object.entries(files)) this.#files.set(name, { ...file, ...this.#newFile(name) })
  }

  /** Adds a line. `line`: without its line end. The line is held in memory until `flush` or `checkpoint` writes it. */
  add(name: string, line: Uint8Array): void {
    const file = this.#fileOf(name)
    file.lines.add(line)
    file.count++
    file.size += line.length + 1
    this.#heldBytes += line.length + 1
  }

  /** Returns the number of lines of a file, including those of earlier slices. */
  countOf(name: string): number {
    return this.#files.get(name)?.count ?? 0
  }

  /**
   * Writes the lines of each file that fill a part. If more than MAX_HELD_BYTES are then still held, writes them all and frees their
   * memory.
   */
  async flush(): Promise<void> {
    for (const file of this.#files.values()) if (file.lines.size >= PART_BYTES) await this.#writePart(file)
    if (this.#heldBytes > MAX_HELD_BYTES) await this.#spill()
  }

  /**
   * Makes all added lines durable and stores the result with `keep`. Then removes the tail that only the last checkpoint named. Returns
   * false if `keep` rejects the checkpoint.
   */
  async checkpoint(keep: (written: WrittenFiles) => Promise<boolean>): Promise<boolean> {
    for (const file of this.#files.values()) if (file.lines.size >= MIN_PART_BYTES) await this.#writePart(file)
    const before = this.#last
    const tail = await this.#writeTail()
    this.#last = tail
    const isStored = await keep({ files: this.#written(), tails: tail === undefined ? this.#tails : [...this.#tails, tail] })
    if (isStored && before !== undefined) await this.#parts.blobs.remove(before.key)
    return isStored
  }

  #written(): Readonly<Record<string, WrittenFile>> {
    return Object.fromEntries([...this.#files].map(([name, { parts, count, size }]) => [name, { parts, count, size }]))
  }

  #fileOf(name: string): File {
    let file = this.#files.get(name)
    if (file === undefined) {
      file = { parts: [], count: 0, size: 0, ...this.#newFile(name) }
      this.#files.set(name, file)
    }
    return file
  }

  #newFile(name: string): Pick<File, 'upload' | 'lines'> {
    return { upload: new FileUpload(this.#parts, this.#job, name), lines: new LineBuffer() }
  }

  async #writePart(file: File): Promise<void> {
    const part = await file.upload.write(file.lines.bytes, file.lines.count)
    file.parts = [...file.parts, part]
    this.#heldBytes -= file.lines.size
    file.lines.clear()
  }

  async #spill(): Promise<void> {
    for (const file of this.#files.values()) if (file.lines.size >= MIN_PART_BYTES) await this.#writePart(file)
    const tail = await this.#writeTail()
    if (tail !== undefined) this.#tails = [...this.#tails, tail]
    for (const { lines } of this.#files.values()) lines.release()
    this.#heldBytes = 0
  }

  async #writeTail(): Promise<TailBlob | undefined> {
    const nonEmpty = [...this.#files].filter(([, { lines }]) => lines.size > 0)
    if (nonEmpty.length === 0) return undefined
    const key = temporaryKeyOf(this.#job, 'tails', this.#parts.newId())
    const ranges: Record<string, readonly [from: number, to: number]> = {}
    let end = 0
    for (const [name, { lines }] of nonEmpty) {
      ranges[name] = [end, end + lines.size]
      end += lines.size
    }
    await this.#parts.blobs.put(key, {
      bytes: Buffer.concat(nonEmpty.map(([, { lines }]) => lines.bytes)),
      contentType: 'application/octet-stream',
    })
    return { key, of: ranges }
  }
}
