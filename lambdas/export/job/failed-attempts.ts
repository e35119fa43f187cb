/**
 * Jobs whose work dies: in a thread that runs out of memory, in a server that is killed, in an execution. It goes on from its last checkpoint, but
 * not for ever where it never comes further.
 */
import type { Rows } from '../../ports/rows/rows.ts'
import type { ExportParts } from '../step-types.ts'
import { forEachCollectingErrors } from './error-aggregation.ts'
import { JOB_ROWS, type Job, rangeRowsOf, segmentRowsOf } from './job.ts'
import { failJob, SMALLER_EXPORT_ADVICE } from './job-failure.ts'
import { changeJob, clearAttemptStart, countFailedAttempt, isUnderWay } from './job-transitions.ts'

/** In a row, without a checkpoint between them. */
const MOST = 10

const HOPELESS = `The export was given up: its work ended ${MOST} times without coming further, as where it needs more memory than there is. ${SMALLER_EXPORT_ADVICE}`

/** The execution of the job's attempt is no more. One that never began has not died: `died` leaves it as it is. */
export async function recordFailedAttempt(parts: Pick<ExportParts, 'rows' | 'blobs' | 'now'>, job: Job): Promise<void> {
  const changed = await changeJob(parts.rows, job.id, countFailedAttempt(job.attempt, await cameOf(parts.rows, job)))
  if (isUnderWay(changed, job.attempt) && (changed.deaths?.count ?? 0) >= MOST) await failJob(parts, changed, HOPELESS)
}

/** Of all jobs but these: what they were at had no part in it. */
export const clearOtherAttemptStarts = (rows: Rows, guilty: ReadonlySet<string>): Promise<void> =>
  forEachCollectingErrors(rows.list<Job>(JOB_ROWS), async ({ name, value: { state, began } }) => {
    if (state === 'in-progress' && began !== undefined && !guilty.has(name)) await changeJob(rows, name, clearAttemptStart)
  })

/** Rises with its plan, each range, and each checkpoint. */
async function cameOf(rows: Rows, { id, plan }: Job): Promise<number> {
  let came = plan === undefined ? 0 : 1
  for (const shelf of [segmentRowsOf(id), rangeRowsOf(id)])
    for await (const { value } of rows.list<{ readonly revision?: number }>(shelf)) came += 1 + (value.revision ?? 0)
  return came
}
