/** How a job comes from state to state, as pure functions, and its row. Specification 3.1. */
import type { Rows } from '../../ports/rows/rows.ts'
import { JOB_ROWS, type Job, type JobFile } from './job.ts'

/** Whether a step of this attempt still has something to do. */
export const isUnderWay = (job: Job | undefined, attempt: number): job is Job => job?.state === 'in-progress' && job.attempt === attempt

type Change = (job: Job) => Job

export const readJob = (rows: Rows, id: string): Promise<Job | undefined> => rows.read<Job>(JOB_ROWS, id)

/** The job as it is afterwards; undefined where there is none. */
export const changeJob = (rows: Rows, id: string, change: Change): Promise<Job | undefined> =>
  rows.change<Job>(JOB_ROWS, id, (job) => job && change(job))

/** Planned once: what others planned at the same time is not used. */
export const setPlan =
  (attempt: number, plan: string, total: number, omittedTypes: readonly string[] = []): Change =>
  (job) =>
    isUnderWay(job, attempt) && job.plan === undefined
      ? { ...job, plan, total, ...(omittedTypes.length === 0 ? {} : { omittedTypes }) }
      : job

export const setComplete =
  (attempt: number, files: readonly JobFile[], now: number): Change =>
  (job) =>
    isUnderWay(job, attempt) ? { ...job, state: 'complete', files, ended: now } : job

/** `reason`: for the job's client, without content. */
export const setError =
  (attempt: number, reason: string, now: number): Change =>
  (job) =>
    isUnderWay(job, attempt) ? { ...job, state: 'error', reason, ended: now } : job

/** Whatever it has come to. */
export const setStopped =
  (now: number): Change =>
  (job) =>
    job.state === 'stopped' ? job : { ...job, state: 'stopped', ended: now }

export const incrementAttempt =
  (attempt: number): Change =>
  (job) =>
    isUnderWay(job, attempt) ? { ...job, attempt: attempt + 1 } : job

/** A step of the attempt is under way. */
export const setAttemptStart =
  (attempt: number): Change =>
  (job) =>
    isUnderWay(job, attempt) && job.began !== attempt ? { ...job, began: attempt } : job

/** What it had begun ended by no fault of its own. */
export const clearAttemptStart: Change = ({ began, ...job }) => job

/** Its work died, where it had begun: once for each attempt. `came`: how far it was by then. */
// guard: outdated-attempt-changes-nothing
export const countFailedAttempt =
  (attempt: number, came: number): Change =>
  (job) =>
    isUnderWay(job, attempt) && job.began === attempt
      ? { ...clearAttemptStart(job), deaths: { came, count: job.deaths?.came === came ? job.deaths.count + 1 : 1 } }
      : job

/** Its manifest was handed out: the latest time counts, whoever notes it last. */
export const setRetrievalTime =
  (now: number): Change =>
  (job) =>
    job.state === 'complete' ? { ...job, retrieved: Math.max(now, job.retrieved ?? now) } : job
