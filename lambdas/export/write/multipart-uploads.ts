/** Multipart uploads of the files of a job. Many writers share the upload of a file, and each part has a unique number. */
import type { BlobParts } from '../../ports/blobs/blob-store.ts'
import { ExportFault } from '../job/export-fault.ts'
import { fileKeyOf, fileRowsOf } from '../job/job.ts'
import type { ExportParts } from '../step-types.ts'

export const NDJSON_CONTENT_TYPE = 'application/fhir+ndjson'

/** Row of an unfinished upload. `id`: id of the upload. `next`: number of the next part. */
export type FileRow = { readonly id: string; readonly next: number }

/** Maximum parts of a file, a limit of S3. */
export const MAX_PARTS = 10_000
const MiB = 1024 * 1024
/** Minimum bytes of every part but the last, as S3 requires. */
export const MIN_PART_BYTES = 5 * MiB

/**
 * Returns the bytes that a part should have, by the number of parts before it. Parts start small and grow, so that 10,000 full ones hold
 * 328 GiB.
 */
export const choosePartSize = (written: number): number => (written < 4_000 ? 8 : written < 7_000 ? 16 : written < 9_000 ? 64 : 128) * MiB

type Parts = Pick<ExportParts, 'rows' | 'blobs'>

export class FileUpload {
  readonly #parts: Parts
  readonly #job: string
  readonly #file: string
  #blob: BlobParts | undefined

  constructor(parts: Parts, job: string, file: string) {
    this.#parts = parts
    this.#job = job
    this.#file = file
  }

  /** Writes a part under a new number, which is never used again. Throws ExportFault above 10,000 parts, the maximum of a file. */
  async write(bytes: Uint8Array): Promise<{ readonly n: number; readonly tag: string }> {
    const blob = await this.#openBlob()
    const row = await this.#parts.rows.change<FileRow>(fileRowsOf(this.#job), this.#file, (row) => row && { ...row, next: row.next + 1 })
    if (row === undefined) throw new Error('The files of the job are gone')
    const n = row.next - 1
    if (n > MAX_PARTS)
      throw new ExportFault(`${this.#file} would be larger than a file can be: ask for less, by _type, _since or _typeFilter`)
    return { n, tag: await blob.writePart(n, bytes) }
  }

  async complete(parts: readonly { readonly n: number; readonly tag: string }[]): Promise<void> {
    await (await this.#openBlob()).complete(parts)
  }

  async #openBlob(): Promise<BlobParts> {
    this.#blob ??= await openUpload(this.#parts, this.#job, this.#file)
    return this.#blob
  }
}

/** Opens the upload of a file. If several writers open it at the same time, all use the upload of the first. */
async function openUpload({ rows, blobs }: Parts, job: string, file: string): Promise<BlobParts> {
  const key = fileKeyOf(job, file)
  const stored = await rows.read<FileRow>(fileRowsOf(job), file)
  if (stored !== undefined) return blobs.openParts(key, NDJSON_CONTENT_TYPE, stored.id)
  const own = await blobs.openParts(key, NDJSON_CONTENT_TYPE)
  const row = await rows.change<FileRow>(fileRowsOf(job), file, (row) => row ?? { id: own.id, next: 1 })
  if (row?.id === own.id) return own
  await own.abort()
  return blobs.openParts(key, NDJSON_CONTENT_TYPE, row?.id)
}
