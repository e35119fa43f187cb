/** What is done about jobs from time to time: unfinished ones go on, and what nobody may have any more is removed. */
import type { Workflow } from '../../ports/execution/workflow.ts'
import type { ExportParts } from '../step-types.ts'
import { forEachCollectingErrors } from './error-aggregation.ts'
import { recordFailedAttempt } from './failed-attempts.ts'
import { executionNameOf, JOB_ROWS, type Job } from './job.ts'
import { failJob } from './job-failure.ts'
import { changeJob, incrementAttempt, isUnderWay, readJob } from './job-transitions.ts'
import { fileExpiryOf } from './lifetimes.ts'
import { removeJobData, removeTemporaryData } from './remove-files.ts'

type Rows = Pick<ExportParts, 'rows'>
type Parts = Pick<ExportParts, 'rows' | 'blobs' | 'now'>

/** A job that is begun again so often has a fault nobody foresaw. */
const MOST_ATTEMPTS = 1_000
/** ms for which a job that was stopped is remembered, longer than a step goes on. */
const REMEMBERED = 60 * 60 * 1000

/** Begins jobs again whose workflow is not running, or was never started. */
export const resumeJobs = (parts: Parts, workflow: Workflow): Promise<void> =>
  forEachCollectingErrors(parts.rows.list<Job>(JOB_ROWS), async ({ value: job }) => {
    if (job.state !== 'in-progress' || (await workflow.isRunning(executionNameOf(job)))) return
    await recordFailedAttempt(parts, job)
    if (job.attempt >= MOST_ATTEMPTS) await failJob(parts, job, 'The export was begun too often, and never finished')
    else await resume(parts, workflow, job)
  })

async function resume({ rows }: Rows, workflow: Workflow, { id, attempt }: Job): Promise<void> {
  const job = await changeJob(rows, id, incrementAttempt(attempt))
  if (isUnderWay(job, attempt + 1)) await startJob(workflow, job)
}

/** Of the attempt the job is in. */
export const startJob = (workflow: Workflow, { id, attempt }: Pick<Job, 'id' | 'attempt'>): Promise<void> =>
  workflow.start(executionNameOf({ id, attempt }), { job: id, attempt })

async function removeJob(parts: Parts, id: string): Promise<void> {
  await removeJobData(parts, id)
  await parts.rows.remove(JOB_ROWS, id)
}

/** What is left of jobs that were cancelled: at once, and until no step is under way that may not have heard of it. Then the job. */
export const removeStoppedJobs = (parts: Parts): Promise<void> =>
  forEachCollectingErrors(parts.rows.list<Job>(JOB_ROWS), async ({ name, value: job }) => {
    if (job.state === 'stopped') await (job.ended! + REMEMBERED <= parts.now() ? removeJob : removeJobData)(parts, name)
  })

/** Removes jobs whose time is over, and what writers left of jobs that are no more. `retentionDays`: a setting. */
export async function removeExpiredJobs(parts: Parts, retentionDays: number): Promise<void> {
  const kept = new Set<string>()
  const ofJobs = async (): Promise<void> =>
    forEachCollectingErrors(parts.rows.list<Job>(JOB_ROWS), async ({ name, value: job }) => {
      const isOver = (fileExpiryOf(job, retentionDays) ?? Number.POSITIVE_INFINITY) <= parts.now()
      if (!isOver) kept.add(name)
      if (isOver) await removeJob(parts, name)
      else if (job.state === 'complete') await removeTemporaryData(parts, name)
      else if (job.state === 'error') await removeJobData(parts, name)
    })
  await forEachCollectingErrors([ofJobs, () => removeOfNobody(parts, kept)], (each) => each())
}

async function removeOfNobody(parts: Parts, kept: ReadonlySet<string>): Promise<void> {
  const left = new Set<string>()
  for await (const { key } of parts.blobs.list('exports/')) left.add(key.split('/')[1]!)
  for await (const key of parts.blobs.unfinished('exports/')) left.add(key.split('/')[1]!)
  await forEachCollectingErrors(left.difference(kept), (job) => removeLeft(parts, job))
}

/** A job may have begun meanwhile. */
async function removeLeft(parts: Parts, id: string): Promise<void> {
  // guard: sweep-leaves-files-of-jobs
  if ((await readJob(parts.rows, id)) === undefined) await removeJobData(parts, id)
}
