/**
 * Writes lines into the files of a job, for one writer of many. What is enough for a part becomes one; the rest stands in a tail, a blob
 * that the checkpoint names. Nothing is overwritten: what a writer wrote whose checkpoint was refused is never named.
 */
import { type Job, temporaryKeyOf } from '../job/job.ts'
import type { TailBlob, WrittenFile, WrittenFiles } from '../plan/segment.ts'
import type { ExportParts } from '../step-types.ts'
import { LineBuffer } from './line-buffer.ts'
import { choosePartSize, FileUpload, MIN_PART_BYTES } from './multipart-uploads.ts'

/** Bytes that are held in memory for many small files together. */
const MOST_HELD = 48 * 1024 * 1024

type File = { -readonly [Field in keyof WrittenFile]: WrittenFile[Field] } & { readonly upload: FileUpload; readonly lines: LineBuffer }

type Parts = Pick<ExportParts, 'rows' | 'blobs' | 'newId'>

export class FileWriter {
  readonly #parts: Parts
  readonly #job: string
  readonly #files = new Map<string, File>()
  /** Finished ones; what is held is in none of them. */
  #tails: readonly TailBlob[]
  /** Of what is held, at the last checkpoint. */
  #last: TailBlob | undefined
  #held = 0

  /** Goes on after what a checkpoint says. */
  constructor(parts: Parts, { id }: Pick<Job, 'id'>, { files, tails }: WrittenFiles) {
    this.#parts = parts
    this.#job = id
    this.#tails = tails
    for (const [name, file] of Object.entries(files)) this.#files.set(name, { ...file, ...this.#opened(name) })
  }

  /** A line without its end. It is held until `flush` or `checkpoint`. */
  add(name: string, line: Uint8Array): void {
    const file = this.#fileOf(name)
    file.lines.add(line)
    file.count++
    file.size += line.length + 1
    this.#held += line.length + 1
  }

  /** Lines of a file, those of earlier slices too. */
  countOf(name: string): number {
    return this.#files.get(name)?.count ?? 0
  }

  /** Writes what is enough for parts, and bounds what is held. */
  async flush(): Promise<void> {
    for (const file of this.#files.values()) if (file.lines.size >= choosePartSize(file.parts.at(-1)?.n ?? 0)) await this.#writePart(file)
    if (this.#held > MOST_HELD) await this.#spill()
  }

  /** What is durable now: all that was added. Ends what the last checkpoint named and this one does not. */
  async checkpoint(keep: (written: WrittenFiles) => Promise<boolean>): Promise<boolean> {
    for (const file of this.#files.values()) if (file.lines.size >= MIN_PART_BYTES) await this.#writePart(file)
    const before = this.#last
    const tail = await this.#writeTail()
    this.#last = tail
    const isKept = await keep({ files: this.#written(), tails: tail === undefined ? this.#tails : [...this.#tails, tail] })
    if (isKept && before !== undefined) await this.#parts.blobs.remove(before.key)
    return isKept
  }

  #written(): Readonly<Record<string, WrittenFile>> {
    return Object.fromEntries([...this.#files].map(([name, { parts, count, size }]) => [name, { parts, count, size }]))
  }

  #fileOf(name: string): File {
    let file = this.#files.get(name)
    if (file === undefined) {
      file = { parts: [], count: 0, size: 0, ...this.#opened(name) }
      this.#files.set(name, file)
    }
    return file
  }

  #opened(name: string): Pick<File, 'upload' | 'lines'> {
    return { upload: new FileUpload(this.#parts, this.#job, name), lines: new LineBuffer() }
  }

  async #writePart(file: File): Promise<void> {
    const part = await file.upload.write(file.lines.bytes)
    file.parts = [...file.parts, part]
    this.#held -= file.lines.size
    file.lines.clear()
  }

  async #spill(): Promise<void> {
    for (const file of this.#files.values()) if (file.lines.size >= MIN_PART_BYTES) await this.#writePart(file)
    const tail = await this.#writeTail()
    if (tail !== undefined) this.#tails = [...this.#tails, tail]
    for (const { lines } of this.#files.values()) lines.release()
    this.#held = 0
  }

  async #writeTail(): Promise<TailBlob | undefined> {
    const held = [...this.#files].filter(([, { lines }]) => lines.size > 0)
    if (held.length === 0) return undefined
    const key = temporaryKeyOf(this.#job, 'tails', this.#parts.newId())
    const of: Record<string, readonly [from: number, to: number]> = {}
    let end = 0
    for (const [name, { lines }] of held) {
      of[name] = [end, end + lines.size]
      end += lines.size
    }
    await this.#parts.blobs.put(key, {
      bytes: Buffer.concat(held.map(([, { lines }]) => lines.bytes)),
      contentType: 'application/octet-stream',
    })
    return { key, of }
  }
}
