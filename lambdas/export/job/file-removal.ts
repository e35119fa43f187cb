/**
 * `removeJobData` removes all blobs and rows of a job except its row of JOB_ROWS: finished files, unfinished files and temporary data. It
 * is idempotent.
 */
import type { ExportParts } from '../step-types.ts'
import { blobPrefixOf, fileRowsOf, patientRowsOf, rangeRowsOf, segmentRowsOf } from './job.ts'

type Parts = Pick<ExportParts, 'rows' | 'blobs'>

export async function removeJobData(parts: Parts, job: string): Promise<void> {
  await parts.blobs.abortParts(blobPrefixOf(job))
  for await (const { key } of parts.blobs.list(blobPrefixOf(job))) await parts.blobs.remove(key)
  await removeRows(parts, job)
}

/** Removes everything of a job except its row of JOB_ROWS and its finished files, which must be complete. Idempotent. */
export async function removeTemporaryData(parts: Parts, job: string): Promise<void> {
  await parts.blobs.abortParts(blobPrefixOf(job))
  for await (const { key } of parts.blobs.list(blobPrefixOf(job)))
    if (!key.startsWith(`${blobPrefixOf(job)}files/`)) await parts.blobs.remove(key)
  await removeRows(parts, job)
}

async function removeRows({ rows }: Pick<Parts, 'rows'>, job: string): Promise<void> {
  for (const rowOwner of [segmentRowsOf(job), rangeRowsOf(job), fileRowsOf(job), patientRowsOf(job)]) await rows.remove(rowOwner)
}
