/** Ends everything of a job but the job: its files, finished or not, and what its writers left for each other. May be repeated. */
import type { ExportParts } from '../step-types.ts'
import { blobsOf, filesOf, patientsOf, rangesOf, segmentsOf } from './job.ts'

type Parts = Pick<ExportParts, 'rows' | 'blobs'>

export async function removeFiles(parts: Parts, job: string): Promise<void> {
  await parts.blobs.abortParts(blobsOf(job))
  for await (const { key } of parts.blobs.list(blobsOf(job))) await parts.blobs.remove(key)
  await removeRows(parts, job)
}

/** What writers left for each other, of a job whose files are finished. May be repeated. */
export async function removePassing(parts: Parts, job: string): Promise<void> {
  await parts.blobs.abortParts(blobsOf(job))
  for await (const { key } of parts.blobs.list(blobsOf(job))) if (!key.startsWith(`${blobsOf(job)}files/`)) await parts.blobs.remove(key)
  await removeRows(parts, job)
}

async function removeRows({ rows }: Pick<Parts, 'rows'>, job: string): Promise<void> {
  for (const shelf of [segmentsOf(job), rangesOf(job), filesOf(job), patientsOf(job)]) await rows.remove(shelf)
}
