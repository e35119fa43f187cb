/**
 * Plans an export: resolves the job scope, counts the types, and creates segments, which many writers write in parallel. A plan that takes
 * longer than a step is continued by the next one.
 */
import type { ScanRequest } from '../../ports/store/resource-store.ts'
import { CHECKPOINT_INTERVAL_MS } from '../job/checkpoint.ts'
import { type Job, segmentRowsOf } from '../job/job.ts'
import { changeJob, isUnderWay, setPlan } from '../job/job-transitions.ts'
import type { ExportParts } from '../step-types.ts'
import { withCancellableReads } from './cancellable-reads.ts'
import { exportTypesOf } from './exported-types.ts'
import { type JobScope, readJobScope, resolveJobScope, storeJobScope } from './job-scope.ts'
import { readNamedPatients } from './named-patients.ts'
import { AUTHORIZATION, exportsDocuments, typeSettingsOf } from './partner-types.ts'
import { storeWithheldPatients } from './permitted-patients.ts'
import { beginPlanProgress, type PlanProgress, readPlanList, readPlanProgress, storePlanProgress } from './plan-progress.ts'
import { NO_WRITTEN_FILES, type Segment, type SegmentPiece } from './segment.ts'
import { MAX_SEGMENTS, packSegments, SMALLEST, type TypeExtent } from './segment-packing.ts'
import { findStoredTypes } from './stored-types.ts'

/**
 * Returns the names of the segments that are not done. `unsettled`: the kick-off is still storing patients, or commits up to the transaction
 * time may still appear. `unfinished`: the next step continues the plan.
 */
export async function planSegments(parts: ExportParts, job: Job): Promise<readonly string[] | 'unsettled' | 'unfinished'> {
  const until = parts.elapsed() + parts.budget
  // guard: export-waits-for-settled-writes
  if (!(await parts.resources.settled(job.tenant, job.transactionTime))) return 'unsettled'
  if (job.plan === undefined) {
    const progress = (await readPlanProgress(parts, job)) ?? (await beginPlan(parts, job))
    if (progress === undefined) return 'unsettled'
    const counted = progress.segments === undefined ? await countTypes(parts, job, progress, until) : progress
    if (counted === undefined) return 'unfinished'
    return namesOf(parts, job, await completePlan(parts, job, counted))
  }
  return namesOf(parts, job, job.plan)
}

async function namesOf({ rows }: ExportParts, { id }: Job, plan: string): Promise<readonly string[]> {
  const names: string[] = []
  for await (const { name, value } of rows.list<Segment>(segmentRowsOf(id)))
    if (name.startsWith(`${plan}-`) && !value.isDone) names.push(name)
  return names
}

/** Resolves the job scope and stores it. Returns undefined if the kick-off is still storing patients. */
async function beginPlan(parts: ExportParts, job: Job): Promise<PlanProgress | undefined> {
  const patients = await readNamedPatients(parts.rows, job, parts.now())
  if (patients === undefined) return undefined
  const whole = { ...job, asked: { ...job.asked, patients } }
  const [checked, plan] = [withCancellableReads(parts, job, parts.longestPlan), parts.newId()]
  const { types, omittedTypes, messages } = exportTypesOf(whole, typeSettingsOf(parts, whole))
  const { scope: resolved, withheld } = await resolveJobScope(checked, whole)
  const omitted = await findStoredTypes(checked, whole, omittedTypes)
  if (withheld !== undefined) await storeWithheldPatients(parts, job.id, plan, withheld)
  await storeJobScope(parts, job, plan, { ...resolved, told: [...job.asked.passedOver, ...messages, ...resolved.told] })
  return beginPlanProgress(parts, job, {
    ...{ revision: 0, plan, omittedTypes: omitted, types },
    ...(resolved.share === undefined ? {} : { share: resolved.share }),
  })
}

/**
 * Counts the remaining types, and stores the segments. Returns undefined if the step is over first, at `until` of `parts.elapsed()`, or if
 * another step has continued the plan.
 */
async function countTypes(parts: ExportParts, job: Job, before: PlanProgress, until: number): Promise<PlanProgress | undefined> {
  const { resources } = withCancellableReads(parts, job)
  const scope = await readJobScope(parts, { ...job, plan: before.plan })
  const extents = before.extents === undefined ? [] : [...(await readPlanList<TypeExtent>(parts, before.extents))]
  let progress = before
  let nextCheckpoint = parts.elapsed() + CHECKPOINT_INTERVAL_MS
  for (let [type, ...others] = progress.types; type !== undefined; [type, ...others] = progress.types) {
    const request = scanOf(job, scope, type, progress.until)
    // Every segment gets more entries than this, so smaller parts would only make the count slower.
    const every = Math.max(SMALLEST, Math.ceil(entriesOf(extents) / MAX_SEGMENTS))
    const isOver = (): boolean => parts.elapsed() >= Math.min(until, nextCheckpoint)
    const { entries, cuts, rest } = await resources.extent(request, every, isOver)
    const since = rest ?? request.since
    extents.push({ type, ...(since === undefined ? {} : { since }), entries, ends: [...cuts, request.until] })
    const { until: _, ...left } = progress
    progress = rest === undefined ? { ...left, types: others } : { ...left, until: rest }
    if (!isOver() || progress.types.length === 0) continue
    const stored = await storePlanProgress(parts, job, progress, ['extents', extents])
    if (stored === undefined || parts.elapsed() >= until) return undefined
    progress = stored
    nextCheckpoint = parts.elapsed() + CHECKPOINT_INTERVAL_MS
  }
  const total = Math.ceil(entriesOf(extents) * (progress.share ?? 1))
  const segments = progress.share === undefined ? packSegments(extents, SMALLEST, MAX_SEGMENTS) : []
  return storePlanProgress(parts, job, { ...progress, total }, ['segments', segments])
}

/**
 * Creates the rows of the segments, and returns the id of the plan. The segments are those of the progress, so a repetition after a crash
 * creates the same rows, and changes none that has a checkpoint.
 */
async function completePlan(parts: ExportParts, job: Job, { plan, total = 0, omittedTypes, segments }: PlanProgress): Promise<string> {
  const all = await readPlanList<readonly SegmentPiece[]>(parts, segments!)
  for (const [i, pieces] of all.entries())
    await parts.rows.change<Segment>(
      segmentRowsOf(job.id),
      `${plan}-${i}`,
      (row) => row ?? { revision: 0, pieces, at: 0, seen: 0, isDone: false, written: NO_WRITTEN_FILES, met: [] },
    )
  const changed = await changeJob(parts.rows, job.id, setPlan(job.attempt, plan, total, omittedTypes))
  if (!isUnderWay(changed, job.attempt) || changed.plan === undefined) throw new Error('The job is no longer in progress')
  return changed.plan
}

const entriesOf = (extents: readonly TypeExtent[]): number => extents.reduce((sum, { entries }) => sum + entries, 0)

/**
 * Returns the latest instant that the scan of a type reads. An authorization that changed after `_until` still names the documents of an
 * export for a partner. With `_since`, such authorizations are found by their documents (collect/unchanged-authorizations.ts).
 */
function latestInstantOf(job: Job, type: string): number {
  const { transactionTime, asked } = job
  if (type === AUTHORIZATION && asked.since === undefined && exportsDocuments(job)) return transactionTime
  return Math.min(transactionTime, (asked.until ?? Number.POSITIVE_INFINITY) - 1)
}

/** Returns the scan of a type. Data of new members is exported regardless of its time, so the scan then ignores `_since`. */
function scanOf(
  job: Job,
  { added }: Pick<JobScope, 'added'>,
  type: string,
  until = latestInstantOf(job, type),
): Omit<ScanRequest, 'cursor' | 'limit'> & { readonly until: number } {
  const { tenant, transactionTime, asked } = job
  const since = asked.since === undefined ? {} : { deletions: true, ...(added.size === 0 ? { since: asked.since } : {}) }
  return { tenant, type, asOf: transactionTime, ...since, until }
}
