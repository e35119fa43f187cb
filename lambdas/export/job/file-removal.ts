/**
 * `removeJobData` removes all blobs and rows of a job except its row of JOB_ROWS: finished files, unfinished files and temporary data. It
 * is idempotent.
 */
import { forEachInParallel } from '../../ports/execution/parallel.ts'
import type { ExportParts } from '../step-types.ts'
import { blobPrefixOf, fileRowsOf, patientRowsOf, rangeRowsOf, segmentRowsOf } from './job.ts'

type Parts = Pick<ExportParts, 'rows' | 'blobs'>

export async function removeJobData(parts: Parts, job: string): Promise<void> {
  await parts.blobs.abortParts(blobPrefixOf(job))
  await removeBlobs(parts, job)
  await removeRows(parts, job)
}

/** Removes everything of a job except its row of JOB_ROWS and its finished files, which must be complete. Idempotent. */
export async function removeTemporaryData(parts: Parts, job: string): Promise<void> {
  await parts.blobs.abortParts(blobPrefixOf(job))
  await removeBlobs(parts, job, (key) => !key.startsWith(`${blobPrefixOf(job)}files/`))
  await removeRows(parts, job)
}

/** Maximum blobs that are removed at once. A large job has thousands, and a sweep has minutes. */
const AT_ONCE = 32

async function removeBlobs({ blobs }: Pick<Parts, 'blobs'>, job: string, isUnused = (_: string) => true): Promise<void> {
  const some: string[] = []
  const remove = (): Promise<void> => forEachInParallel(some.splice(0), AT_ONCE, (key) => blobs.remove(key))
  for await (const { key } of blobs.list(blobPrefixOf(job))) if (isUnused(key) && some.push(key) === AT_ONCE) await remove()
  await remove()
}

async function removeRows({ rows }: Pick<Parts, 'rows'>, job: string): Promise<void> {
  for (const rowOwner of [segmentRowsOf(job), rangeRowsOf(job), fileRowsOf(job), patientRowsOf(job)]) await rows.remove(rowOwner)
}
