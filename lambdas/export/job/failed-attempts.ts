/**
 * Counts crashes of a job: a thread out of memory, a killed server, an execution that ended. A crashed job continues from its last
 * checkpoint, but fails after MAX_CRASHES crashes without progress.
 */
import type { Rows } from '../../ports/rows/rows.ts'
import type { ExportParts } from '../step-types.ts'
import { forEachCollectingErrors } from './error-aggregation.ts'
import { JOB_ROWS, type Job, rangeRowsOf, segmentRowsOf } from './job.ts'
import { failJob, SMALLER_EXPORT_ADVICE } from './job-failure.ts'
import { changeJob, clearAttemptStart, countFailedAttempt, isUnderWay } from './job-transitions.ts'

/** Consecutive crashes without progress (`progressOf`) at which the job fails. Any progress in between restarts the count. */
const MAX_CRASHES = 10

const HOPELESS = `The export was given up: its work ended ${MAX_CRASHES} times without coming further, as where it needs more memory than there is. ${SMALLER_EXPORT_ADVICE}`

/** Counts a crash of the job's current attempt, and fails the job at MAX_CRASHES. Does not count an attempt that never began to work. */
export async function recordFailedAttempt(parts: Pick<ExportParts, 'rows' | 'blobs' | 'now'>, job: Job): Promise<void> {
  const changed = await changeJob(parts.rows, job.id, countFailedAttempt(job.attempt, await progressOf(parts.rows, job)))
  if (isUnderWay(changed, job.attempt) && (changed.deaths?.count ?? 0) >= MAX_CRASHES) await failJob(parts, changed, HOPELESS)
}

/**
 * Clears the attempt start of all running jobs except the guilty ones, so that the crash does not count for them. `guilty`: ids of the jobs
 * that were working at the time of the crash.
 */
export const clearOtherAttemptStarts = (rows: Rows, guilty: ReadonlySet<string>): Promise<void> =>
  forEachCollectingErrors(rows.list<Job>(JOB_ROWS), async ({ name, value: { state, began } }) => {
    if (state === 'in-progress' && began !== undefined && !guilty.has(name)) await changeJob(rows, name, clearAttemptStart)
  })

/** Returns the progress of the job: a number that increases with the plan, each new range and each checkpoint. */
async function progressOf(rows: Rows, { id, plan }: Job): Promise<number> {
  let progress = plan === undefined ? 0 : 1
  for (const rowOwner of [segmentRowsOf(id), rangeRowsOf(id)])
    for await (const { value } of rows.list<{ readonly revision?: number }>(rowOwner)) progress += 1 + (value.revision ?? 0)
  return progress
}
