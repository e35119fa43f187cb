/** Steps of exports on AWS, and the sweeps that resume and clean up jobs. */
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

/**
 * How long a step starts further work, in milliseconds. Its function is stopped after fifteen minutes, and one part or page may be slow.
 */
const BUDGET = 10 * 60_000

/** How long a sweep starts further copies, in milliseconds. Its function is stopped after five minutes, and one part may be slow. */
const COPYING = 2 * 60_000

/** How long planning starts further reads, in milliseconds. The last read may be slow. */
const LONGEST_PLAN = 12 * 60_000
/** Maximum seconds between two attempts to plan. It bounds the events of an execution, which may have 25,000. */
const LONGEST_WAIT = 120

/**
 * Maximum versions of a type that a step reads from the store because the index may lack them. It exceeds the limit of a request: a step
 * has more time and is retried.
 */
const MOST_LATEST = 20_000

const now = (): number => clock().now()
const told = (error: unknown): void => report(error, 'export')

/** Returns the parts of one step. New parts per step make it read the latest writes once. */
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
 * Event of a schedule. `jobs`, every minute: resumes jobs without an execution and removes data of cancelled jobs. `expired`, every hour:
 * removes expired jobs, and the rows of schedules that are not named (absent: none is). `schedules`, every five minutes: logs which
 * scheduled exports failed or are late. `copies`, every minute: copies their files into buckets of other parties.
 */
export type ExportSweep =
  | { readonly sweep: 'jobs' }
  | { readonly sweep: 'expired'; readonly schedules?: readonly string[] }
  | { readonly sweep: 'schedules' | 'copies'; readonly schedules: readonly WatchedSchedule[] }

/** Runs a sweep. All its tasks run, even if one fails. Logs each failure, then throws one error. */
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

/** Logs the ages of the jobs in progress. */
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
