/**
 * Copies files of scheduled exports into buckets of other owners, once the export is complete. The manifest is copied last, so that a
 * reader who finds it finds all files. Copying runs in slices. The row of the schedule records the progress after each call of the copier,
 * so that any later slice can continue.
 */
import { toInstant } from '../../fhir/version.ts'
import type { BlobCopier } from '../../ports/blobs/blob-copier.ts'
import { forEachCollectingErrors } from '../job/error-aggregation.ts'
import { fileKeyOf, type Job } from '../job/job.ts'
import { readJob } from '../job/job-transitions.ts'
import { manifestOf } from '../job/manifest.ts'
import type { ExportParts } from '../step-types.ts'
import { NDJSON_CONTENT_TYPE } from '../write/multipart-uploads.ts'
import {
  type CopyProgress,
  isToBeCopied,
  SCHEDULE_ROWS,
  type ScheduledExport,
  type ScheduledRun,
  type StoredSchedule,
  settleRuns,
  updateRun,
} from './schedules.ts'

export type CopyParts = Pick<ExportParts, 'rows' | 'now' | 'report'> & {
  readonly copier: BlobCopier
  /** Milliseconds after which the slice starts no further call of the copier. A call copies at most one file. */
  readonly budget: number
}

/** Milliseconds for which a slice reserves a copy. A slice runs less long, so that no two slices copy the same run. */
const LEASE = 6 * 60_000

type CopiedSchedule = Pick<ScheduledExport, 'name' | 'bucket'>

type Copied = { readonly schedule: string; readonly run: ScheduledRun; readonly job: Job; readonly bucket: string }

/** Returns the folder of a run's files in the bucket. The folder names of a schedule sort by transaction time. */
export const folderOf = ({ tenant, transactionTime }: Pick<Job, 'tenant' | 'transactionTime'>, schedule: string): string =>
  `${tenant}/${schedule}/${toInstant(transactionTime).replaceAll(/[-:]/g, '')}/`

/**
 * Copies the files of all runs in turn, one call of the copier each, so that no run waits for a large one. An error is reported and
 * recorded, and the next slice retries.
 */
export async function copyExports(parts: CopyParts, schedules: readonly CopiedSchedule[]): Promise<void> {
  const waiting: Copied[] = []
  const findAll = (): Promise<void> => forEachCollectingErrors(schedules, (schedule) => reserveCopies(parts, schedule, waiting))
  await forEachCollectingErrors([findAll, () => copyAll(parts, waiting)], (each) => each())
}

async function copyAll(parts: CopyParts, waiting: Copied[]): Promise<void> {
  const ends = parts.now() + parts.budget
  while (waiting.length > 0 && parts.now() < ends) {
    const next = waiting.shift()!
    const copy = await copyNext(parts, next)
    if (copy !== undefined) waiting.push({ ...next, run: { ...next.run, copy } })
  }
  for (const { schedule, run } of waiting) await storeProgress(parts, schedule, run, withoutReservation(run.copy!))
}

/** Reserves the copies of complete runs that no other slice works on, oldest first. Abandons copies of runs that failed. */
async function reserveCopies(parts: CopyParts, { name: schedule, bucket }: CopiedSchedule, waiting: Copied[]): Promise<void> {
  const runs = (await settleRuns(parts.rows, schedule))?.runs.toReversed() ?? []
  await forEachCollectingErrors(runs, async (run) => {
    if (bucket === undefined || run.bucket !== bucket) return
    if (run.state !== 'begun') return abandon(parts, schedule, run)
    const job = await readJob(parts.rows, run.job)
    const reserved = job?.state === 'complete' ? await reserve(parts, schedule, run) : undefined
    if (reserved !== undefined) waiting.push({ schedule, run: reserved, job: job!, bucket })
  })
}

async function reserve({ rows, now }: CopyParts, schedule: string, { at }: ScheduledRun): Promise<ScheduledRun | undefined> {
  const [from, until] = [now(), now() + LEASE]
  let own: ScheduledRun | undefined
  await rows.change<StoredSchedule>(SCHEDULE_ROWS, schedule, (stored) => {
    own = undefined
    if (stored === undefined) return undefined
    const runs = stored.runs.map((run): ScheduledRun => {
      if (run.at !== at || !isToBeCopied(run) || (run.copy?.until ?? 0) > from) return run
      own = { ...run, copy: { done: 0, ...run.copy, until } }
      return own
    })
    return own === undefined ? stored : { ...stored, runs }
  })
  return own
}

/** Runs one call of the copier. Returns the progress of the copy, or undefined if it is complete or has failed in this slice. */
async function copyNext(parts: CopyParts, copied: Copied): Promise<CopyProgress | undefined> {
  const { schedule, run } = copied
  try {
    const copy = await copyOne(parts, copied)
    await storeProgress(parts, schedule, run, copy)
    if (!copy.isWhole) return copy
    await settleRuns(parts.rows, schedule)
  } catch (error) {
    parts.report(error)
    await storeProgress(parts, schedule, run, { ...withoutReservation(run.copy!), isFailing: true })
  }
  return undefined
}

async function copyOne({ copier }: CopyParts, { schedule, run, job, bucket }: Copied): Promise<CopyProgress> {
  const [files, { done, open, until }] = [job.files ?? [], run.copy!]
  const folder = folderOf(job, schedule)
  const keys = new Map(files.map(({ name }) => [name, `${folder}${name}.ndjson`]))
  const file = files[done]
  if (file === undefined) {
    const bytes = new TextEncoder().encode(JSON.stringify(manifestOf(job, keys), undefined, 2))
    await copier.put({ bucket, key: `${folder}manifest.json` }, { bytes, contentType: 'application/json' })
    return { done, isWhole: true }
  }
  const key = keys.get(file.name)!
  const blob = { key: fileKeyOf(job.id, file.name), size: file.size, contentType: NDJSON_CONTENT_TYPE }
  const parts = await copier.copy(blob, { bucket, key }, open?.parts)
  const reservation = until === undefined ? {} : { until }
  return parts === undefined ? { done: done + 1, ...reservation } : { done, open: { key, parts }, ...reservation }
}

/**
 * Discards the unfinished copy of one file if the job of the run was cancelled or failed. Files that were copied completely stay in the
 * bucket. Does nothing while another slice has reserved the copy.
 */
async function abandon(parts: CopyParts, schedule: string, run: ScheduledRun): Promise<void> {
  const { bucket, copy } = run
  if (bucket === undefined || copy?.open === undefined || (copy.until ?? 0) > parts.now()) return
  await parts.copier.abandon({ bucket, key: copy.open.key }, copy.open.parts)
  await storeProgress(parts, schedule, run, { done: copy.done })
}

/** Returns the progress without its reservation, so that another slice can continue. */
const withoutReservation = ({ until: _, ...copy }: CopyProgress): CopyProgress => copy

const storeProgress = ({ rows }: CopyParts, schedule: string, { at }: ScheduledRun, copy: CopyProgress): Promise<void> =>
  updateRun(rows, schedule, at, { copy })
