/**
 * Exports that start on schedules. Each schedule is a row of SCHEDULE_ROWS by its name. With `sinceLast` a run exports the changes since
 * the last complete run, if that had the same parameters and the same access. Otherwise it exports everything.
 */
import type { PartialCopy } from '../../ports/blobs/blob-copier.ts'
import type { Rows } from '../../ports/rows/rows.ts'
import type { ExportLevel } from '../export-request.ts'
import { RESTORED_STORE_REASON } from '../job/job-failure.ts'
import { readJob } from '../job/job-transitions.ts'

/** Parameters of a schedule, and the client that it runs as. */
export type ScheduledExport = {
  /** Name of the schedule: `[A-Za-z0-9-]{1,40}`. */
  readonly name: string
  /** Id of a registered client. */
  readonly client: string
  readonly tenant: string
  readonly level: ExportLevel
  /** Id of the Group. */
  readonly group?: string
  /** Absent: all types of the level. */
  readonly types?: readonly string[]
  /** Whether a run exports only the changes since the last complete run. */
  readonly sinceLast?: boolean
  /** Bucket of another owner. All files are copied there; a run is complete when these and the manifest are copied (bucket-copies.ts). */
  readonly bucket?: string
  /** Restore generation of the store. After a restore, earlier exports may hold resources that the store lacks. Absent: 0. */
  readonly epoch?: number
}

/**
 * `time`: time of the scheduled call in the format of EventBridge, such as 2031-01-01T03:00:00Z. `only`: `set-back` starts a run only if a
 * point-in-time restore ended the last one.
 */
export type ScheduleEvent = { readonly schedule: ScheduledExport; readonly time: string; readonly only?: 'set-back' }

/**
 * `called`: the job is not started yet. `refused`: the job could not be started. `begun`: the job is started, and its result is not
 * recorded yet. `stopped`: the job was cancelled, or removed before its result was recorded.
 */
export type RunState = 'called' | 'refused' | 'begun' | 'complete' | 'error' | 'stopped'

/**
 * `at`: time of the scheduled call, in milliseconds since 1970; there is one run per instant. `of`: identifies parameters and access of the
 * run. `bucket`: target of the copy. `copy`: progress of the copy.
 */
export type ScheduledRun = {
  readonly at: number
  readonly job: string
  readonly state: RunState
  readonly of?: string
  readonly bucket?: string
  readonly copy?: CopyProgress
}

/**
 * `done`: number of copied files. `open`: next file, with its parts copied so far. `until`: end of the reservation by a slice, in
 * milliseconds since 1970. `isFailing`: the last attempt failed, and the next slice retries. `isWhole`: all files and the manifest are
 * copied.
 */
export type CopyProgress = {
  readonly done: number
  readonly open?: { readonly key: string; readonly parts: PartialCopy }
  readonly until?: number
  readonly isFailing?: boolean
  readonly isWhole?: boolean
}

/** `known`: when the schedule was first seen, in milliseconds since 1970. `runs`: newest first. `last`: latest complete run. */
export type StoredSchedule = {
  readonly known: number
  readonly runs: readonly ScheduledRun[]
  readonly last?: { readonly transactionTime: number; readonly of: string }
}

export const SCHEDULE_ROWS = 'export-schedules'

/** Maximum runs retained per schedule. Beyond it the oldest run is dropped and its result is no longer recorded. */
const MAX_RUNS = 20

/**
 * Returns the id of the job of a scheduled run, such as `nightly-20310101T030000Z`. It is predictable, so that the client can derive it to
 * poll the job. `at`: milliseconds since 1970.
 */
export const jobIdAt = (name: string, at: number): string =>
  `${name}-${new Date(at).toISOString().replace(/\.\d+/, '').replaceAll(/[:-]/g, '')}`

/** Returns the name of the schedule that started the job, or undefined for an id that no schedule gives. */
export const scheduleOf = (job: string): string | undefined => /^([A-Za-z0-9-]{1,40})-\d{8}T\d{6}Z$/.exec(job)?.[1]

/** Returns the run of a scheduled call, and creates it for the first call of an instant. Returns undefined if there is only a later run. */
export async function ensureRun(rows: Rows, name: string, { at, now }: { at: number; now: number }): Promise<ScheduledRun | undefined> {
  const run: ScheduledRun = { at, job: jobIdAt(name, at), state: 'called' }
  const stored = await rows.change<StoredSchedule>(SCHEDULE_ROWS, name, (stored = { known: now, runs: [] }) =>
    stored.runs.some((each) => each.at >= at) ? stored : { ...stored, runs: [run, ...stored.runs].slice(0, MAX_RUNS) },
  )
  return stored?.runs.find((each) => each.at === at)
}

export async function updateRun(rows: Rows, name: string, at: number, more: Partial<ScheduledRun>): Promise<void> {
  await rows.change<StoredSchedule>(
    SCHEDULE_ROWS,
    name,
    (stored) => stored && { ...stored, runs: stored.runs.map((run) => (run.at === at ? { ...run, ...more } : run)) },
  )
}

/**
 * Returns `_since` of the next run in milliseconds since 1970. Returns undefined if it must export everything: no run is complete, or the
 * last had other parameters or access. `of`: identifies parameters and access of the next run.
 */
export async function nextSinceOf(rows: Rows, name: string, of: string): Promise<number | undefined> {
  const last = (await settleRuns(rows, name))?.last
  return last?.of === of ? last.transactionTime : undefined
}

/** Whether a point-in-time restore ended the last run. Runs that were refused since then do not count. */
export async function isEndedByRestore(rows: Rows, name: string): Promise<boolean> {
  const last = (await rows.read<StoredSchedule>(SCHEDULE_ROWS, name))?.runs.find(({ state }) => state !== 'refused')
  return last !== undefined && (await readJob(rows, last.job))?.reason === RESTORED_STORE_REASON
}

/**
 * Records the results of started jobs that have ended; a job that no longer exists counts as `stopped`. A complete job stays `begun` until
 * its files are copied. Returns the schedule, or undefined if it is unknown.
 */
export async function settleRuns(rows: Rows, name: string): Promise<StoredSchedule | undefined> {
  const before = await rows.read<StoredSchedule>(SCHEDULE_ROWS, name)
  let stored = before
  for (const run of before?.runs ?? []) if (run.state === 'begun') stored = (await settleRun(rows, name, run)) ?? stored
  return stored
}

async function settleRun(rows: Rows, name: string, run: ScheduledRun): Promise<StoredSchedule | undefined> {
  const { at, job: id, of = '' } = run
  const job = await readJob(rows, id)
  if (job?.state === 'in-progress' || (job?.state === 'complete' && isToBeCopied(run))) return undefined
  const state: RunState = job?.state ?? 'stopped'
  return rows.change<StoredSchedule>(SCHEDULE_ROWS, name, (stored) => {
    if (stored === undefined) return undefined
    const runs = stored.runs.map((run) => (run.at === at ? { ...run, state } : run))
    const isLatest = job?.state === 'complete' && job.transactionTime > (stored.last?.transactionTime ?? 0)
    return { ...stored, runs, ...(isLatest ? { last: { transactionTime: job.transactionTime, of } } : {}) }
  })
}

export const isToBeCopied = ({ bucket, copy }: ScheduledRun): boolean => bucket !== undefined && copy?.isWhole !== true

/** `late`: maximum age of the last complete run, in milliseconds. Above it the schedule is late. */
export type WatchedSchedule = Pick<ScheduledExport, 'name' | 'bucket'> & { readonly late: number }

export type ScheduleProblems = { readonly failed: readonly string[]; readonly late: readonly string[] }

/**
 * Returns the names of schedules with problems. `failed`: the last run could not start or failed, or its files cannot be copied. `late`: no
 * run has been complete for too long. The lateness of a new schedule counts from its first check.
 */
export async function findScheduleProblems(rows: Rows, schedules: readonly WatchedSchedule[], now: number): Promise<ScheduleProblems> {
  const failed: string[] = []
  const tooLate: string[] = []
  for (const { name, late, bucket } of schedules) {
    await rows.change<StoredSchedule>(SCHEDULE_ROWS, name, (stored) => stored ?? { known: now, runs: [] })
    const { known, runs, last } = (await settleRuns(rows, name)) ?? { known: now, runs: [] }
    const state = runs[0]?.state
    const isNotCopied = runs.some((run) => run.state === 'begun' && run.bucket === bucket && run.copy?.isFailing)
    if (state === 'refused' || state === 'error' || isNotCopied) failed.push(name)
    if (now - Math.max(known, last?.transactionTime ?? 0) > late) tooLate.push(name)
  }
  return { failed, late: tooLate }
}

/**
 * Milliseconds for which a row is retained after its last call, or after it was first seen. The list of configured schedules may be older
 * than a new schedule.
 */
const NEW = 60 * 60 * 1000

/**
 * Removes the rows of schedules that are no longer configured. Such a schedule exports everything if it is configured again. `names`:
 * configured schedules. Undefined: unknown, and nothing is removed.
 */
export async function removeObsoleteSchedules({ rows, now }: { rows: Rows; now: () => number }, names?: readonly string[]): Promise<void> {
  if (names === undefined) return
  for await (const { name, value } of rows.list<StoredSchedule>(SCHEDULE_ROWS))
    if (!names.includes(name) && (value.runs[0]?.at ?? value.known) + NEW <= now()) await rows.remove(SCHEDULE_ROWS, name)
}
