/**
 * Exports that are begun on schedules: what is remembered of each, in a row of the shelf `export-schedules` by its name. A run goes on from the
 * last one that is complete, where that asked for the same, for a client that might see the same.
 */
import type { PartialCopy } from '../../ports/blobs/blob-copier.ts'
import type { Rows } from '../../ports/rows/rows.ts'
import type { ExportLevel } from '../export-request.ts'
import { RESTORED_STORE_REASON } from '../job/job-failure.ts'
import { readJob } from '../job/job-transitions.ts'

/** What a schedule asks for, and as whom. */
export type ScheduledExport = {
  /** `[A-Za-z0-9-]{1,40}`. */
  readonly name: string
  /** The id of one that is registered. */
  readonly client: string
  readonly tenant: string
  readonly level: ExportLevel
  /** The id of the Group. */
  readonly group?: string
  /** Absent: all of the level. */
  readonly types?: readonly string[]
  /** Whether only what was changed since the last one is asked for. */
  readonly sinceLast?: boolean
  /** Of somebody else: files are copied there, and a run is complete when they are (bucket-copies.ts). */
  readonly bucket?: string
  /** How often the store was set back: what was exported before may be there no more. Absent: never. */
  readonly epoch?: number
}

/**
 * `time`: when the schedule called, as EventBridge writes it: 2031-01-01T03:00:00Z. `only`: where its last run was ended because the store was
 * set back, it is begun anew, and else nothing.
 */
export type ScheduleEvent = { readonly schedule: ScheduledExport; readonly time: string; readonly only?: 'set-back' }

/** `called`: its job was not begun yet. `refused`: nor could it be. `stopped`: its job is no more, and nobody saw it end. */
export type RunState = 'called' | 'refused' | 'begun' | 'complete' | 'error' | 'stopped'

/**
 * `at`: when the schedule called, ms since 1970: for each instant there is one run. `of`: names what was asked for, and what might be seen.
 * `bucket`: where its files are copied to, `copy`: how far that is.
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
 * `done`: files that are copied. `open`: the next, of which parts are there. `until`: ms since 1970, before which it is somebody's who goes on
 * with it. `isFailing`: the last attempt broke; others follow.
 */
export type CopyProgress = {
  readonly done: number
  readonly open?: { readonly key: string; readonly parts: PartialCopy }
  readonly until?: number
  readonly isFailing?: boolean
  readonly isWhole?: boolean
}

/** `known`: since when, ms since 1970. `runs`: the newest first. `last`: the latest that is complete. */
export type StoredSchedule = {
  readonly known: number
  readonly runs: readonly ScheduledRun[]
  readonly last?: { readonly transactionTime: number; readonly of: string }
}

export const SCHEDULE_ROWS = 'export-schedules'

/** Runs that are remembered: more are not under way at once. */
const MOST = 20

/** A schedule's jobs have names that can be told before: `nightly-20310101T030000Z`. `at`: ms since 1970. */
export const jobIdAt = (name: string, at: number): string =>
  `${name}-${new Date(at).toISOString().replace(/\.\d+/, '').replaceAll(/[:-]/g, '')}`

/** The run of a call, which may come more than once; undefined: a later one was begun already. */
export async function ensureRun(rows: Rows, name: string, { at, now }: { at: number; now: number }): Promise<ScheduledRun | undefined> {
  const run: ScheduledRun = { at, job: jobIdAt(name, at), state: 'called' }
  const kept = await rows.change<StoredSchedule>(SCHEDULE_ROWS, name, (kept = { known: now, runs: [] }) =>
    kept.runs.some((each) => each.at >= at) ? kept : { ...kept, runs: [run, ...kept.runs].slice(0, MOST) },
  )
  return kept?.runs.find((each) => each.at === at)
}

export async function updateRun(rows: Rows, name: string, at: number, more: Partial<ScheduledRun>): Promise<void> {
  await rows.change<StoredSchedule>(
    SCHEDULE_ROWS,
    name,
    (kept) => kept && { ...kept, runs: kept.runs.map((run) => (run.at === at ? { ...run, ...more } : run)) },
  )
}

/** Where the next run goes on, ms since 1970; undefined: it exports everything. */
export async function nextSinceOf(rows: Rows, name: string, of: string): Promise<number | undefined> {
  const last = (await settleRuns(rows, name))?.last
  return last?.of === of ? last.transactionTime : undefined
}

/** Whether its last run was ended because the store was set back, or could not be begun anew since. */
export async function isEndedByRestore(rows: Rows, name: string): Promise<boolean> {
  const last = (await rows.read<StoredSchedule>(SCHEDULE_ROWS, name))?.runs.find(({ state }) => state !== 'refused')
  return last !== undefined && (await readJob(rows, last.job))?.reason === RESTORED_STORE_REASON
}

/** Notes what became of the jobs that were begun, before they are forgotten. */
export async function settleRuns(rows: Rows, name: string): Promise<StoredSchedule | undefined> {
  const known = await rows.read<StoredSchedule>(SCHEDULE_ROWS, name)
  let kept = known
  for (const run of known?.runs ?? []) if (run.state === 'begun') kept = (await settleRun(rows, name, run)) ?? kept
  return kept
}

async function settleRun(rows: Rows, name: string, run: ScheduledRun): Promise<StoredSchedule | undefined> {
  const { at, job: id, of = '' } = run
  const job = await readJob(rows, id)
  if (job?.state === 'in-progress' || (job?.state === 'complete' && isToBeCopied(run))) return undefined
  const state: RunState = job?.state ?? 'stopped'
  return rows.change<StoredSchedule>(SCHEDULE_ROWS, name, (kept) => {
    if (kept === undefined) return undefined
    const runs = kept.runs.map((run) => (run.at === at ? { ...run, state } : run))
    const isLatest = job?.state === 'complete' && job.transactionTime > (kept.last?.transactionTime ?? 0)
    return { ...kept, runs, ...(isLatest ? { last: { transactionTime: job.transactionTime, of } } : {}) }
  })
}

export const isToBeCopied = ({ bucket, copy }: ScheduledRun): boolean => bucket !== undefined && copy?.isWhole !== true

/** `late`: ms within which one is complete that was begun. */
export type WatchedSchedule = Pick<ScheduledExport, 'name' | 'bucket'> & { readonly late: number }

export type ScheduleProblems = { readonly failed: readonly string[]; readonly late: readonly string[] }

/** The names of those whose last run could not be begun or failed, or whose files cannot be copied, and of those that have been without a complete one for too long. */
export async function findScheduleProblems(rows: Rows, schedules: readonly WatchedSchedule[], now: number): Promise<ScheduleProblems> {
  const failed: string[] = []
  const tooLate: string[] = []
  for (const { name, late, bucket } of schedules) {
    await rows.change<StoredSchedule>(SCHEDULE_ROWS, name, (kept) => kept ?? { known: now, runs: [] })
    const { known, runs, last } = (await settleRuns(rows, name)) ?? { known: now, runs: [] }
    const state = runs[0]?.state
    const isNotCopied = runs.some((run) => run.state === 'begun' && run.bucket === bucket && run.copy?.isFailing)
    if (state === 'refused' || state === 'error' || isNotCopied) failed.push(name)
    if (now - Math.max(known, last?.transactionTime ?? 0) > late) tooLate.push(name)
  }
  return { failed, late: tooLate }
}

/** ms: whoever begins one that is new has noted it since what is set was told. */
const NEW = 60 * 60 * 1000

/** Those that are set no more; one that is set again later begins anew, with everything. `names`: of those that are; undefined: nobody knows. */
export async function removeObsoleteSchedules({ rows, now }: { rows: Rows; now: () => number }, names?: readonly string[]): Promise<void> {
  if (names === undefined) return
  for await (const { name, value } of rows.list<StoredSchedule>(SCHEDULE_ROWS))
    if (!names.includes(name) && (value.runs[0]?.at ?? value.known) + NEW <= now()) await rows.remove(SCHEDULE_ROWS, name)
}
