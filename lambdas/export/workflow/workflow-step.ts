/**
 * Runs one step of the export workflow. A step of a job that is not in progress, or of an outdated attempt, does nothing. An ExportFault,
 * or damage to the store, fails the job because a retry does not help. Every other error is a machine fault: it is reported, and the
 * workflow retries the step.
 */
import { isFault } from '../../ports/faults.ts'
import { collectSlice } from '../collect/range-collector.ts'
import { planRanges } from '../collect/range-planner.ts'
import { ExportFault } from '../job/export-fault.ts'
import { removeJobData, removeTemporaryData } from '../job/file-removal.ts'
import { isOfPartner, type Job } from '../job/job.ts'
import {
  DAMAGED_STORE_REASON,
  failJob,
  REMOVED_PARTNER_REASON,
  RESTORED_STORE_REASON,
  STEP_TERMINATED_REASON,
  UNAVAILABLE_REASON,
} from '../job/job-failure.ts'
import { changeJob, isUnderWay, readJob, setAttemptStart } from '../job/job-transitions.ts'
import { decidePart, finishMatch, isMatch, planMatch } from '../match/match-steps.ts'
import { planSegments } from '../plan/plan.ts'
import type { ExportParts, PlanOutput, RangePlanOutput, SliceOutput, StepInput } from '../step-types.ts'
import { TERMINATION_ERRORS } from '../workflow.ts'
import { finishJob } from '../write/finish.ts'
import { writeSlice } from '../write/segment-writer.ts'

export type StepOutput = PlanOutput | RangePlanOutput | SliceOutput | { readonly job: string; readonly attempt: number }

/** Returns the seconds until the next attempt to plan: one for every 15 since the kick-off, from 1 to `longestWait`. */
const untilPlanned = ({ now, longestWait = 1 }: ExportParts, { transactionTime }: Job): number =>
  Math.max(1, Math.min(longestWait, Math.floor((now() - transactionTime) / 15_000)))

export const exportStep =
  (parts: ExportParts) =>
  async (input: StepInput): Promise<StepOutput> => {
    try {
      const job = await readJob(parts.rows, input.job)
      if (job !== undefined) await tidy(parts, job, input)
      // guard: step-of-current-attempt
      return isUnderWay(job, input.attempt) ? await performed(parts, job, input) : nothing(input)
    } catch (error) {
      if (!isUnderWay(await readJob(parts.rows, input.job), input.attempt)) return nothing(input)
      parts.report(error)
      throw new Error(`The step ${input.action} of an export broke`)
    }
  }

/** Repeats the cleanup of a step that ended its job and failed afterwards. */
async function tidy(parts: ExportParts, { id, state }: Job, { action }: StepInput): Promise<void> {
  if (action === 'fail' && state === 'error') await removeJobData(parts, id)
  if (action === 'finish' && state === 'complete') await removeTemporaryData(parts, id)
}

async function performed(parts: ExportParts, job: Job, input: StepInput): Promise<StepOutput> {
  try {
    // guard: export-ends-with-restore
    if ((job.epoch ?? 0) !== (parts.epoch ?? 0)) throw new ExportFault(RESTORED_STORE_REASON)
    // guard: job-ends-with-partner
    if (isOfPartner(job) && !(await parts.isPartner(job.client))) throw new ExportFault(REMOVED_PARTNER_REASON)
    if (input.action === 'plan' && job.began !== job.attempt) await changeJob(parts.rows, job.id, setAttemptStart(job.attempt))
    return await perform(parts, job, input)
  } catch (error) {
    const reason = lastingReason(error)
    if (reason === undefined) throw error
    if (reason === DAMAGED_STORE_REASON) parts.report(error)
    await failJob(parts, job, reason)
    return nothing(input)
  }
}

/** Returns the reason of the failure if a retry cannot fix the error, else undefined. */
function lastingReason(error: unknown): string | undefined {
  if (error instanceof ExportFault) return error.reason
  // guard: damaged-store-fails-export
  return isFault(error, 'store-damaged') ? DAMAGED_STORE_REASON : undefined
}

async function perform(parts: ExportParts, job: Job, input: StepInput): Promise<StepOutput> {
  const ofJob = { job: job.id, attempt: job.attempt }
  switch (input.action) {
    case 'plan': {
      const planned = await (isMatch(job) ? planMatch(parts, job) : planSegments(parts, job))
      if (planned === 'unsettled') return { ...ofJob, wait: untilPlanned(parts, job), segments: [] }
      return planned === 'unfinished' ? { ...ofJob, wait: 1, segments: [] } : { ...ofJob, wait: 0, segments: planned }
    }
    case 'write': {
      const { segment } = input
      return { ...ofJob, segment, more: await (isMatch(job) ? decidePart(parts, job, segment) : writeSlice(parts, job, segment)) }
    }
    case 'gather':
      return { ...ofJob, ranges: isMatch(job) ? [] : await planRanges(parts, job) }
    case 'collect':
      return { ...ofJob, range: input.range, more: await collectSlice(parts, job, input.range) }
    case 'finish':
      await (isMatch(job) ? finishMatch(parts, job) : finishJob(parts, job))
      return ofJob
    case 'fail':
      await failJob(
        parts,
        job,
        input.error !== undefined && TERMINATION_ERRORS.includes(input.error) ? STEP_TERMINATED_REASON : UNAVAILABLE_REASON,
      )
      return ofJob
  }
}

/** Returns an output that leaves no work to the workflow, for an attempt that is not current or a job that has ended. */
function nothing({ job, attempt, ...input }: StepInput): StepOutput {
  switch (input.action) {
    case 'plan':
      return { job, attempt, wait: 0, segments: [] }
    case 'write':
      return { job, attempt, segment: input.segment, more: false }
    case 'gather':
      return { job, attempt, ranges: [] }
    case 'collect':
      return { job, attempt, range: input.range, more: false }
    case 'finish':
    case 'fail':
      return { job, attempt }
  }
}
