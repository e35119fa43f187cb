/** Periodic sweeps over the jobs: resume unfinished jobs and remove expired data. */

import type { Workflow } from '../../ports/execution/workflow.ts'
import { type CheckedPage, continuePass } from '../../ports/rows/pass.ts'
import type { ExportParts } from '../step-types.ts'
import { forEachCollectingErrors } from './error-aggregation.ts'
import { recordFailedAttempt } from './failed-attempts.ts'
import { removeJobData, removeTemporaryData } from './file-removal.ts'
import { executionNameOf, JOB_ROWS, type Job } from './job.ts'
import { failJob } from './job-failure.ts'
import { changeJob, incrementAttempt, isUnderWay, readJob } from './job-transitions.ts'
import { fileExpiryOf } from './lifetimes.ts'

type Rows = Pick<ExportParts, 'rows'>
type Parts = Pick<ExportParts, 'rows' | 'blobs' | 'now'>

/** Number of attempts from which an interrupted job fails instead of restarting. So many restarts mean an unforeseen fault. */
const MAX_ATTEMPTS = 1_000
/**
 * Milliseconds for which the row of a stopped job is retained. That is longer than a step runs, so a later sweep removes the files that a
 * step still writes.
 */
const CANCELLED_RETENTION_MS = 60 * 60 * 1000

/** Restarts jobs in progress whose workflow is not running or was never started. An attempt that had begun counts as a crash. */
export const resumeJobs = (parts: Parts, workflow: Workflow): Promise<void> =>
  forEachCollectingErrors(parts.rows.list<Job>(JOB_ROWS), async ({ value: job }) => {
    if (job.state !== 'in-progress' || (await workflow.isRunning(executionNameOf(job)))) return
    await recordFailedAttempt(parts, job)
    if (job.attempt >= MAX_ATTEMPTS) await failJob(parts, job, 'The export was begun too often, and never finished')
    else await resume(parts, workflow, job)
  })

async function resume({ rows }: Rows, workflow: Workflow, { id, attempt }: Job): Promise<void> {
  const job = await changeJob(rows, id, incrementAttempt(attempt))
  if (isUnderWay(job, attempt + 1)) await startJob(workflow, job)
}

/** Starts the workflow of the current attempt. */
export const startJob = (workflow: Workflow, { id, attempt }: Pick<Job, 'id' | 'attempt'>): Promise<void> =>
  workflow.start(executionNameOf({ id, attempt }), { job: id, attempt })

async function removeJob(parts: Parts, id: string): Promise<void> {
  await removeJobData(parts, id)
  await parts.rows.remove(JOB_ROWS, id)
}

/**
 * Removes the files of stopped jobs, and again at each sweep: a running step may still write some. Removes the job's row
 * CANCELLED_RETENTION_MS after the stop.
 */
export const removeStoppedJobs = (parts: Parts): Promise<void> =>
  forEachCollectingErrors(parts.rows.list<Job>(JOB_ROWS), async ({ name, value: job }) => {
    if (job.state === 'stopped') await (job.ended! + CANCELLED_RETENTION_MS <= parts.now() ? removeJob : removeJobData)(parts, name)
  })

/**
 * Removes expired jobs, leftover data of ended jobs, and files of jobs that no longer exist, even if some jobs fail. `retentionDays`:
 * minimum days for which a complete or failed job is retained.
 */
export async function removeExpiredJobs(parts: Parts, retentionDays: number): Promise<void> {
  await forEachCollectingErrors(await sweptJobsOf(parts), (id) => sweepJob(parts, id, retentionDays))
}

/** Removes the same as `removeExpiredJobs`, but begins no job after `budget` milliseconds. The next call continues behind the last job. */
export async function continueRemoval(parts: Parts, retentionDays: number, budget: number): Promise<void> {
  const { rows, now } = parts
  const start = now()
  const ids = await sweptJobsOf(parts)
  const checkPage = async (after: string): Promise<CheckedPage> => {
    const id = ids.find((each) => each > after)
    if (id === undefined) return { failures: [] }
    const failures = await sweepJob(parts, id, retentionDays).then(
      () => [],
      (error: unknown) => [error],
    )
    return { last: id, failures }
  }
  await continuePass({ rows, name: 'exports', checkPage, interval: 0, budget: budget - (now() - start), now })
}

/** Returns the ids of all jobs, and of those that only have files left, ascending. */
async function sweptJobsOf({ rows, blobs }: Parts): Promise<readonly string[]> {
  const ids = new Set<string>()
  for await (const { name } of rows.list<Job>(JOB_ROWS)) ids.add(name)
  for await (const { key } of blobs.list('exports/')) ids.add(key.split('/')[1]!)
  for await (const key of blobs.unfinished('exports/')) ids.add(key.split('/')[1]!)
  return [...ids].sort()
}

/** Reads the job first: it may have been created, or its links renewed, since it was listed. */
async function sweepJob(parts: Parts, id: string, retentionDays: number): Promise<void> {
  const job = await readJob(parts.rows, id)
  // guard: sweep-leaves-files-of-jobs
  if (job === undefined) await removeJobData(parts, id)
  else if ((fileExpiryOf(job, retentionDays) ?? Number.POSITIVE_INFINITY) <= parts.now()) await removeJob(parts, id)
  else if (job.state === 'complete') await removeTemporaryData(parts, id)
  else if (job.state === 'error') await removeJobData(parts, id)
}
