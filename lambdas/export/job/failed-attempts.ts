/**
 * Jobs whose work dies: in a thread that runs out of memory, in a server that is killed, in an execution. It goes on from its last checkpoint, but
 * not for ever where it never comes further.
 */
import type { KeptRows } from '../../ports/rows/rows.ts'
import type { ExportParts } from '../step-types.ts'
import { goThrough } from './error-aggregation.ts'
import { JOBS, type Job, rangesOf, segmentsOf } from './job.ts'
import { ASK_FOR_LESS, fail } from './job-failure.ts'
import { changeJob, died, isUnderWay, spared } from './job-transitions.ts'

/** In a row, without a checkpoint between them. */
const MOST = 10

const HOPELESS = `The export was given up: its work ended ${MOST} times without coming further, as where it needs more memory than there is. ${ASK_FOR_LESS}`

/** The execution of the job's attempt is no more. One that never began has not died: `died` leaves it as it is. */
export async function noteDeath(parts: Pick<ExportParts, 'rows' | 'blobs' | 'now'>, job: Job): Promise<void> {
  const changed = await changeJob(parts.rows, job.id, died(job.attempt, await cameOf(parts.rows, job)))
  if (isUnderWay(changed, job.attempt) && (changed.deaths?.count ?? 0) >= MOST) await fail(parts, changed, HOPELESS)
}

/** Of all jobs but these: what they were at had no part in it. */
export const spareOthers = (rows: KeptRows, guilty: ReadonlySet<string>): Promise<void> =>
  goThrough(rows.list<Job>(JOBS), async ({ name, value: { state, began } }) => {
    if (state === 'in-progress' && began !== undefined && !guilty.has(name)) await changeJob(rows, name, spared)
  })

/** Rises with its plan, each range, and each checkpoint. */
async function cameOf(rows: KeptRows, { id, plan }: Job): Promise<number> {
  let came = plan === undefined ? 0 : 1
  for (const shelf of [segmentsOf(id), rangesOf(id)])
    for await (const { value } of rows.list<{ readonly revision?: number }>(shelf)) came += 1 + (value.revision ?? 0)
  return came
}
