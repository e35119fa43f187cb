/** The steps of exports on AWS, and what takes up what was left of them. */
import { flattenErrors, forEachCollectingErrors } from '../../export/job/error-aggregation.ts'
import { JOB_ROWS, type Job } from '../../export/job/job.ts'
import { removeExpiredJobs, removeStoppedJobs, resumeJobs } from '../../export/job/job-sweep.ts'
import { copyExports } from '../../export/schedules/bucket-copies.ts'
import { findScheduleProblems, removeObsoleteSchedules, type WatchedSchedule } from '../../export/schedules/schedules.ts'
import type { ExportParts, StepInput } from '../../export/step-types.ts'
import { exportStep, type StepOutput } from '../../export/workflow/workflow-step.ts'
import { exportCopier, exportFiles, exportTypeSettings, exportWorkflow, jobRows } from './export-ports.ts'
import { logMetric, report } from './log.ts'
import { clock, config, deploymentSettings, expressions, searchContexts, store } from './ports.ts'
import { consistentIndex } from './search-index.ts'

/** ms a step goes on: its function ends after fifteen minutes, and a part or a page may be slow. */
const BUDGET = 10 * 60_000

/** ms for which copies are begun: the sweep's function ends after five minutes, and a part may be slow. */
const COPYING = 2 * 60_000

/** ms for which a plan reads: the last reading may be slow. */
const LONGEST_PLAN = 12 * 60_000
/** Seconds: an execution has at most 25,000 events. */
const LONGEST_WAIT = 120

/** Versions of a type that the index may lack: a step has more time than a request, and is tried again. */
const MOST_LATEST = 20_000

const now = (): number => clock().now()
const told = (error: unknown): void => report(error, 'export')

/** What was written lately is read once for each step. */
const parts = (): ExportParts => ({
  ...exportTypeSettings(),
  epoch: deploymentSettings().epoch,
  rows: jobRows(),
  resources: store(),
  index: consistentIndex(MOST_LATEST),
  blobs: exportFiles(),
  async readingOf(tenant) {
    await searchContexts().refresh(now())
    return searchContexts().now(tenant)
  },
  expressions,
  now,
  elapsed: () => performance.now(),
  newId: () => clock().newId(),
  budget: BUDGET,
  longestPlan: LONGEST_PLAN,
  longestWait: LONGEST_WAIT,
  report: told,
})

export const runExportStep = async (input: StepInput): Promise<StepOutput> => exportStep(parts())(input)

/**
 * `jobs`: every minute, those without an execution go on, and what is left of cancelled ones is removed. `expired`: every hour, what nobody may
 * have any more is removed, and schedules are forgotten that are not among those named (absent: none is). `schedules`: every five minutes, it
 * is told which of those on schedules failed, or are late. `copies`: every minute, their files are copied into buckets of others.
 */
export type ExportSweep =
  | { readonly sweep: 'jobs' }
  | { readonly sweep: 'expired'; readonly schedules?: readonly string[] }
  | { readonly sweep: 'schedules' | 'copies'; readonly schedules: readonly WatchedSchedule[] }

/** One of them that fails keeps no other from being done. */
export async function sweepExports(asked: ExportSweep): Promise<void> {
  try {
    await forEachCollectingErrors(whatTo(asked), (each) => each())
  } catch (error) {
    for (const each of flattenErrors(error)) told(each)
    throw new Error(`The sweep ${asked.sweep} of exports failed`)
  }
}

function whatTo(asked: ExportSweep): readonly (() => Promise<void>)[] {
  const swept = { rows: jobRows(), blobs: exportFiles(), now }
  switch (asked.sweep) {
    case 'jobs':
      return [() => resumeJobs(swept, exportWorkflow()), () => removeStoppedJobs(swept), tellAge]
    case 'expired':
      return [() => removeExpiredJobs(swept, config().exportRetentionDays), () => removeObsoleteSchedules(swept, asked.schedules)]
    case 'schedules':
      return [() => tellTroubles(asked.schedules)]
    case 'copies':
      return [() => copyExports({ ...swept, copier: exportCopier(), budget: COPYING, report: told }, asked.schedules)]
  }
}

/** Of the jobs under way. */
async function tellAge(): Promise<void> {
  const at = now()
  const ages: number[] = []
  for await (const { value } of jobRows().list<Job>(JOB_ROWS)) if (value.state === 'in-progress') ages.push(at - value.transactionTime)
  logMetric('ExportAge', 'Milliseconds', ages, { stage: deploymentSettings().stage, at })
}

async function tellTroubles(schedules: readonly WatchedSchedule[]): Promise<void> {
  const { failed, late } = await findScheduleProblems(jobRows(), schedules, now())
  const about = { stage: deploymentSettings().stage, at: now() }
  logMetric('ScheduledExportsFailed', 'Count', [failed.length], { ...about, names: failed })
  logMetric('ScheduledExportsLate', 'Count', [late.length], { ...about, names: late })
}
