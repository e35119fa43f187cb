/**
 * Multipart uploads of the files of a job. Many writers share the upload of a file, and each part has a unique number. A type has one file.
 * Before the file would exceed its maximum size, the next file of the type begins.
 */
import type { BlobParts } from '../../ports/blobs/blob-store.ts'
import { fileKeyOf, fileRowsOf } from '../job/job.ts'
import type { WrittenPart } from '../plan/segment.ts'
import type { ExportParts } from '../step-types.ts'

export const NDJSON_CONTENT_TYPE = 'application/fhir+ndjson'

/**
 * Row of the unfinished files of a type, with the name of the first file. `id`: id of the upload. `next`: number of the next part. `size`:
 * bytes of the last file, including parts that no checkpoint names; absent if an earlier version of the server wrote the row. `joined`: blob
 * that lists the parts into which the finish step joined the tails. The row of a later file has only its `id`.
 */
export type FileRow = { readonly id: string; readonly next: number; readonly size?: number; readonly joined?: string }

/**
 * Part numbers of a file, a limit of S3. Parts of all files of a type are numbered together: the second file begins with 10,001. An earlier
 * version of the server refuses these numbers.
 */
export const MAX_PARTS = 10_000
const MiB = 1024 * 1024
/** Minimum bytes of every part but the last, as S3 requires. */
export const MIN_PART_BYTES = 5 * MiB
/** Bytes of lines at which a writer writes them as a part. */
export const PART_BYTES = 8 * MiB
/** Maximum bytes of a file. Parts of the minimum size need 8,192 numbers for it. */
export const MAX_FILE_BYTES = 40 * 1024 * MiB

/** Returns the number of the file that has the part: 1, 2 and so on. */
export const fileNumberOf = ({ n }: Pick<WrittenPart, 'n'>): number => Math.ceil(n / MAX_PARTS)

/** Returns the name of a file of a type: `Patient`, `Patient-2`. */
export const fileNameOf = (file: string, number: number): string => (number === 1 ? file : `${file}-${number}`)

type Parts = Pick<ExportParts, 'rows' | 'blobs' | 'maxFileBytes'>

export class FileUpload {
  readonly #parts: Parts
  readonly #job: string
  readonly #file: string
  readonly #blobs = new Map<number, Promise<BlobParts>>()

  constructor(parts: Parts, job: string, file: string) {
    this.#parts = parts
    this.#job = job
    this.#file = file
  }

  /** Writes a part under a new number, which is never used again. `count`: lines of the part. */
  async write(bytes: Uint8Array, count: number): Promise<WrittenPart> {
    await this.#blob(1)
    const { rows, maxFileBytes = MAX_FILE_BYTES } = this.#parts
    const row = await rows.change<FileRow>(fileRowsOf(this.#job), this.#file, (row) => row && withPart(row, bytes.length, maxFileBytes))
    if (row === undefined) throw new Error('The files of the job are gone')
    const n = row.next - 1
    const blob = await this.#blob(fileNumberOf({ n }))
    return { n, tag: await blob.writePart(numberInFile(n), bytes), count, size: bytes.length }
  }

  /** Completes one of the files. */
  async complete(number: number, parts: readonly WrittenPart[]): Promise<void> {
    const blob = await this.#blob(number)
    await blob.complete(parts.map(({ n, tag }) => ({ n: numberInFile(n), tag })))
  }

  #blob(number: number): Promise<BlobParts> {
    let blob = this.#blobs.get(number)
    if (blob === undefined) {
      blob = openUpload(this.#parts, this.#job, fileNameOf(this.#file, number))
      this.#blobs.set(number, blob)
      blob.catch(() => this.#blobs.delete(number))
    }
    return blob
  }
}

const numberInFile = (n: number): number => ((n - 1) % MAX_PARTS) + 1

/** Returns the row after another part, which begins the next file if it does not fit into the last one. */
function withPart(row: FileRow, bytes: number, maxFileBytes: number): FileRow {
  const { next, size = (next - 1) * PART_BYTES } = row
  const isFull = size > 0 && size + bytes > maxFileBytes
  const n = isFull ? fileNumberOf({ n: next - 1 }) * MAX_PARTS + 1 : next
  return { ...row, next: n + 1, size: isFull ? bytes : size + bytes }
}

/** Opens the upload of a file. If several writers open it at the same time, all use the upload of the first. */
async function openUpload({ rows, blobs }: Parts, job: string, name: string): Promise<BlobParts> {
  const key = fileKeyOf(job, name)
  const stored = await rows.read<FileRow>(fileRowsOf(job), name)
  if (stored !== undefined) return blobs.openParts(key, NDJSON_CONTENT_TYPE, stored.id)
  const own = await blobs.openParts(key, NDJSON_CONTENT_TYPE)
  const row = await rows.change<FileRow>(fileRowsOf(job), name, (row) => row ?? { id: own.id, next: 1, size: 0 })
  if (row?.id === own.id) return own
  await own.abort()
  return blobs.openParts(key, NDJSON_CONTENT_TYPE, row?.id)
}
