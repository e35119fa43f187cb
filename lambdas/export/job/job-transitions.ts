/** State transitions of a job as pure functions, and access to its row. Specification 3.1. */
import type { Rows } from '../../ports/rows/rows.ts'
import { JOB_ROWS, type Job, type JobFile } from './job.ts'

/** Whether the attempt is current and the job in progress. Otherwise its steps have nothing to do. */
export const isUnderWay = (job: Job | undefined, attempt: number): job is Job => job?.state === 'in-progress' && job.attempt === attempt

type Change = (job: Job) => Job

export const readJob = (rows: Rows, id: string): Promise<Job | undefined> => rows.read<Job>(JOB_ROWS, id)

/** Changes the job and returns its state after the change, or undefined if the job does not exist. */
export const changeJob = (rows: Rows, id: string, change: Change): Promise<Job | undefined> =>
  rows.change<Job>(JOB_ROWS, id, (job) => job && change(job))

/** Sets the plan of the attempt if the job has none. If several steps plan at the same time, only the first plan is used. */
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

/** Fails the job if the attempt is current. `reason`: reason for the client, without data of resources. */
export const setError =
  (attempt: number, reason: string, now: number): Change =>
  (job) =>
    isUnderWay(job, attempt) ? { ...job, state: 'error', reason, ended: now } : job

/** Stops the job in any state, and keeps the time of an earlier stop. */
export const setStopped =
  (now: number): Change =>
  (job) =>
    job.state === 'stopped' ? job : { ...job, state: 'stopped', ended: now }

export const incrementAttempt =
  (attempt: number): Change =>
  (job) =>
    isUnderWay(job, attempt) ? { ...job, attempt: attempt + 1 } : job

/** Marks that a step of the attempt has begun. If the attempt then ends without a result, that counts as a crash. */
export const setAttemptStart =
  (attempt: number): Change =>
  (job) =>
    isUnderWay(job, attempt) && job.began !== attempt ? { ...job, began: attempt } : job

/**
 * Clears the attempt start, so that the end of the attempt is not counted as a crash. Used if the job did not cause the end, and after a
 * crash was counted.
 */
export const clearAttemptStart: Change = ({ began, ...job }) => job

/**
 * Counts a crash of the attempt, once and only if it had begun. `came`: the job's progress at the crash. Progress since the previous crash
 * restarts the count, so that only a stuck job fails.
 */
// guard: outdated-attempt-changes-nothing
export const countFailedAttempt =
  (attempt: number, came: number): Change =>
  (job) =>
    isUnderWay(job, attempt) && job.began === attempt
      ? { ...clearAttemptStart(job), deaths: { came, count: job.deaths?.came === came ? job.deaths.count + 1 : 1 } }
      : job

/**
 * Records that a client received the manifest of a complete job, because its links extend the lifetime of the files. Keeps the latest time,
 * even if calls arrive out of order.
 */
export const setRetrievalTime =
  (now: number): Change =>
  (job) =>
    job.state === 'complete' ? { ...job, retrieved: Math.max(now, job.retrieved ?? now) } : job
