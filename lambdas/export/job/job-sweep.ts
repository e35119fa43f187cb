/** Periodic sweeps over the jobs: resume unfinished jobs and remove expired data. */
import type { Workflow } from '../../ports/execution/workflow.ts'
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
 * Removes expired jobs, leftover data of ended jobs, and files of jobs that no longer exist. `retentionDays`: minimum days for which a
 * complete or failed job is retained.
 */
export async function removeExpiredJobs(parts: Parts, retentionDays: number): Promise<void> {
  const retained = new Set<string>()
  const sweepJobs = async (): Promise<void> =>
    forEachCollectingErrors(parts.rows.list<Job>(JOB_ROWS), async ({ name, value: job }) => {
      const isOver = (fileExpiryOf(job, retentionDays) ?? Number.POSITIVE_INFINITY) <= parts.now()
      if (!isOver) retained.add(name)
      if (isOver) await removeJob(parts, name)
      else if (job.state === 'complete') await removeTemporaryData(parts, name)
      else if (job.state === 'error') await removeJobData(parts, name)
    })
  await forEachCollectingErrors([sweepJobs, () => removeOrphanedFiles(parts, retained)], (each) => each())
}

async function removeOrphanedFiles(parts: Parts, retained: ReadonlySet<string>): Promise<void> {
  const left = new Set<string>()
  for await (const { key } of parts.blobs.list('exports/')) left.add(key.split('/')[1]!)
  for await (const key of parts.blobs.unfinished('exports/')) left.add(key.split('/')[1]!)
  await forEachCollectingErrors(left.difference(retained), (job) => removeOrphan(parts, job))
}

/** Removes the files of a job, unless the job was created since they were listed. */
async function removeOrphan(parts: Parts, id: string): Promise<void> {
  // guard: sweep-leaves-files-of-jobs
  if ((await readJob(parts.rows, id)) === undefined) await removeJobData(parts, id)
}
