/** Steps of export jobs on AWS, and the scheduled sweeps that resume, watch, copy and remove exports. */
import { writerWithRows } from '../../adapters/dynamodb/store/identifier-rows.ts'
import { flattenErrors, forEachCollectingErrors } from '../../export/job/error-aggregation.ts'
import { JOB_ROWS, type Job } from '../../export/job/job.ts'
import { continueRemoval, removeStoppedJobs, resumeJobs } from '../../export/job/job-sweep.ts'
import { copyExports } from '../../export/schedules/bucket-copies.ts'
import { findScheduleProblems, removeObsoleteSchedules, type WatchedSchedule } from '../../export/schedules/schedules.ts'
import type { ExportParts, StepInput } from '../../export/step-types.ts'
import { exportStep, type StepOutput } from '../../export/workflow/workflow-step.ts'
import { deleteEndedMatches } from '../../interactions/operations/match-deletion.ts'
import { type MatchStorePorts, matchStore } from '../../interactions/operations/match-store.ts'
import { identifiersOf } from '../../search/documents/identifiers.ts'
import { transmittingPayerOf } from '../payer-identity.ts'
import { EXPORT_STEP_MS, LONGEST_PLAN_MS, SWEEP_MS } from '../step-times.ts'
import { clients } from './authorization.ts'
import { exportCopier, exportFiles, exportTypeSettings, exportWorkflow, jobRows, matchLimitsOfPartners } from './export-ports.ts'
import { logMetric, report } from './log.ts'
import {
  clock,
  config,
  deploymentSettings,
  disclosureRecords,
  expressions,
  identifierRows,
  indexProgress,
  searchContexts,
  store,
} from './ports.ts'
import { consistentIndex } from './search-index.ts'

/**
 * How long a sweep starts further copies, in milliseconds. The rest of the function's five minutes is for the last part, which may be slow.
 */
const COPYING = 2 * 60_000

/** Maximum seconds between two attempts to plan an export. Longer waits use up fewer of the 25,000 events that an execution may have. */
const LONGEST_WAIT = 120

/**
 * Maximum recent versions of a type that a step reads from the store because the index may lack them. It is higher than for a request,
 * because a step has more time and is retried.
 */
const MOST_LATEST = 20_000

const now = (): number => clock().now()
const told = (error: unknown): void => report(error, 'export')

const readingOf = (tenant: string) => searchContexts().of(tenant, now())

const matchPorts = (): MatchStorePorts => ({
  ...{ clock: clock(), expressions: expressions(), progress: indexProgress(), identifiersOf, rows: jobRows() },
  heads: (...asked) => store().heads(...asked),
  writer: writerWithRows(store(), identifierRows()),
  // The server built these resources, so they need no validation. An invalid part of the request must not fail the job of all members.
  profiled: () => [],
})

/** Returns the ports of one step. They are new for each step, so each step reads the latest writes itself. */
const parts = (): ExportParts => ({
  ...exportTypeSettings(),
  epoch: deploymentSettings().epoch,
  rows: jobRows(),
  resources: store(),
  index: consistentIndex(MOST_LATEST),
  blobs: exportFiles(),
  readingOf,
  storeMatch: matchStore(matchPorts(), readingOf),
  isPartner: async (client) => (await clients().get(client))?.partner !== undefined,
  matchLimits: matchLimitsOfPartners(),
  expressions,
  now,
  elapsed: () => performance.now(),
  newId: () => clock().newId(),
  budget: EXPORT_STEP_MS,
  longestPlan: LONGEST_PLAN_MS,
  longestWait: LONGEST_WAIT,
  partners: config(),
  disclosing: { blobs: disclosureRecords(), payer: transmittingPayerOf(config()) },
  report: told,
})

/** Event of a schedule, every hour: deletes ended matches. */
export type MatchSweep = { readonly sweep: 'matches' }

export async function runExportStep(input: StepInput | MatchSweep): Promise<StepOutput | undefined> {
  if (!('sweep' in input)) return exportStep(parts())(input)
  try {
    await deleteEndedMatches(matchPorts(), readingOf, SWEEP_MS)
    return undefined
  } catch (error) {
    for (const each of flattenErrors(error)) told(each)
    throw new Error('The sweep of matches failed')
  }
}

/**
 * Event of a schedule.
 * `jobs`, every minute: resumes jobs without an execution, and removes data of cancelled jobs.
 * `expired`, every hour: removes expired jobs, and rows of schedules that are not in `schedules`. Absent: removes those of all schedules.
 * `schedules`, every five minutes: logs which scheduled exports failed or are late.
 * `copies`, every minute: copies files of scheduled exports into buckets of other parties.
 */
export type ExportSweep =
  | { readonly sweep: 'jobs' }
  | { readonly sweep: 'expired'; readonly schedules?: readonly string[] }
  | { readonly sweep: 'schedules' | 'copies'; readonly schedules: readonly WatchedSchedule[] }

/** Runs all tasks of a sweep, even if one fails. Logs each failure, and then throws one error. */
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
      return [() => continueRemoval(swept, config().exportRetentionDays, SWEEP_MS), () => removeObsoleteSchedules(swept, asked.schedules)]
    case 'schedules':
      return [() => tellTroubles(asked.schedules)]
    case 'copies':
      return [() => copyExports({ ...swept, copier: exportCopier(), budget: COPYING, report: told }, asked.schedules)]
  }
}

/** Logs the age of each job in progress as a metric. */
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
