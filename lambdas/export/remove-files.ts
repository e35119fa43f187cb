/** Ends everything of a job but the job: its files, finished or not, and what its writers left for each other. May be repeated. */
import { blobOf, blobsOf, filesOf, rangesOf, segmentsOf } from './job.ts'
import type { ExportParts } from './steps.ts'
import { type FileRow, NDJSON } from './uploads.ts'

type Parts = Pick<ExportParts, 'rows' | 'blobs'>

export async function removeFiles(parts: Parts, job: string): Promise<void> {
  await abortUploads(parts, job)
  for await (const { key } of parts.blobs.list(blobsOf(job))) await parts.blobs.remove(key)
  await removeRows(parts, job)
}

/** What writers left for each other: of a job whose files are finished. */
export async function removePassing({ blobs }: Parts, job: string): Promise<void> {
  for await (const { key } of blobs.list(blobsOf(job))) if (!key.startsWith(`${blobsOf(job)}files/`)) await blobs.remove(key)
}

/** The uploads of files that were not completed. */
export async function abortUploads({ rows, blobs }: Parts, job: string): Promise<void> {
  for await (const { name, value } of rows.list<FileRow>(filesOf(job)))
    await (await blobs.openParts(blobOf(job, name), NDJSON, value.id)).abort()
}

export async function removeRows({ rows }: Pick<Parts, 'rows'>, job: string): Promise<void> {
  for (const shelf of [segmentsOf(job), rangesOf(job), filesOf(job)]) await rows.remove(shelf)
}
