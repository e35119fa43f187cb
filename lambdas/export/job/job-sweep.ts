/** What is done about jobs from time to time: unfinished ones go on, and what nobody may have any more is removed. */
import type { Workflow } from '../../ports/execution/workflow.ts'
import type { ExportParts } from '../step-types.ts'
import { goThrough } from './error-aggregation.ts'
import { noteDeath } from './failed-attempts.ts'
import { executionOf, JOBS, type Job } from './job.ts'
import { fail } from './job-failure.ts'
import { begunAgain, changeJob, isUnderWay, readJob } from './job-transitions.ts'
import { filesEnd } from './lifetimes.ts'
import { removeFiles, removePassing } from './remove-files.ts'

type Rows = Pick<ExportParts, 'rows'>
type Parts = Pick<ExportParts, 'rows' | 'blobs' | 'now'>

/** A job that is begun again so often has a fault nobody foresaw. */
const MOST_ATTEMPTS = 1_000
/** ms for which a job that was stopped is remembered, longer than a step goes on. */
const REMEMBERED = 60 * 60 * 1000

/** Begins jobs again whose workflow is not running, or was never started. */
export const resumeJobs = (parts: Parts, workflow: Workflow): Promise<void> =>
  goThrough(parts.rows.list<Job>(JOBS), async ({ value: job }) => {
    if (job.state !== 'in-progress' || (await workflow.isRunning(executionOf(job)))) return
    await noteDeath(parts, job)
    if (job.attempt >= MOST_ATTEMPTS) await fail(parts, job, 'The export was begun too often, and never finished')
    else await resume(parts, workflow, job)
  })

async function resume({ rows }: Rows, workflow: Workflow, { id, attempt }: Job): Promise<void> {
  const job = await changeJob(rows, id, begunAgain(attempt))
  if (isUnderWay(job, attempt + 1)) await startJob(workflow, job)
}

/** Of the attempt the job is in. */
export const startJob = (workflow: Workflow, { id, attempt }: Pick<Job, 'id' | 'attempt'>): Promise<void> =>
  workflow.start(executionOf({ id, attempt }), { job: id, attempt })

async function removeJob(parts: Parts, id: string): Promise<void> {
  await removeFiles(parts, id)
  await parts.rows.remove(JOBS, id)
}

/** What is left of jobs that were cancelled: at once, and until no step is under way that may not have heard of it. Then the job. */
export const removeStopped = (parts: Parts): Promise<void> =>
  goThrough(parts.rows.list<Job>(JOBS), async ({ name, value: job }) => {
    if (job.state === 'stopped') await (job.ended! + REMEMBERED <= parts.now() ? removeJob : removeFiles)(parts, name)
  })

/** Removes jobs whose time is over, and what writers left of jobs that are no more. `retentionDays`: a setting. */
export async function removeExpired(parts: Parts, retentionDays: number): Promise<void> {
  const kept = new Set<string>()
  const ofJobs = async (): Promise<void> =>
    goThrough(parts.rows.list<Job>(JOBS), async ({ name, value: job }) => {
      const isOver = (filesEnd(job, retentionDays) ?? Number.POSITIVE_INFINITY) <= parts.now()
      if (!isOver) kept.add(name)
      if (isOver) await removeJob(parts, name)
      else if (job.state === 'complete') await removePassing(parts, name)
      else if (job.state === 'error') await removeFiles(parts, name)
    })
  await goThrough([ofJobs, () => removeOfNobody(parts, kept)], (each) => each())
}

async function removeOfNobody(parts: Parts, kept: ReadonlySet<string>): Promise<void> {
  const left = new Set<string>()
  for await (const { key } of parts.blobs.list('exports/')) left.add(key.split('/')[1]!)
  for await (const key of parts.blobs.unfinished('exports/')) left.add(key.split('/')[1]!)
  await goThrough(left.difference(kept), (job) => removeLeft(parts, job))
}

/** A job may have begun meanwhile. */
async function removeLeft(parts: Parts, id: string): Promise<void> {
  // guard: sweep-leaves-files-of-jobs
  if ((await readJob(parts.rows, id)) === undefined) await removeFiles(parts, id)
}
