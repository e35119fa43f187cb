/** The steps of exports on AWS, and what takes up what was left of them. */
import { DEFAULT_ADDITIONAL_RESOURCES } from '../export/additional-resources.ts'
import { JOBS, type Job } from '../export/job.ts'
import { type WatchedSchedule, watchSchedules } from '../export/schedules.ts'
import { exportStep, type StepOutput } from '../export/step.ts'
import type { ExportParts, StepInput } from '../export/steps.ts'
import { removeExpired, removeStopped, resumeJobs } from '../export/sweep.ts'
import { additionalResourcesOf } from './additional-resources-of.ts'
import { clock, config, expressions, places, reading, store } from './aws.ts'
import { exportFiles, exportWorkflow, jobRows } from './aws-exporting.ts'
import { latest } from './aws-index.ts'
import { metric, report } from './aws-log.ts'
import { once } from './once.ts'

/** ms a step goes on: its function ends after fifteen minutes, and a part or a page may be slow. */
const BUDGET = 10 * 60_000

const now = (): number => clock().now()

/** As the setting has it: the JSON itself, since a function has no file of an operator's. */
const additionalResources = /* @__PURE__ */ once(
  async () => (await additionalResourcesOf(config().exportAdditionalResources)) ?? DEFAULT_ADDITIONAL_RESOURCES,
)

/** What was written lately is read once for each step. */
const parts = async (): Promise<ExportParts> => ({
  additionalResources: await additionalResources(),
  rows: jobRows(),
  resources: store(),
  index: latest(),
  blobs: exportFiles(),
  async readingOf(tenant) {
    await reading().refresh(now())
    return reading().now(tenant)
  },
  expressions,
  now,
  newId: () => clock().newId(),
  budget: BUDGET,
  groupTypes: config().groupExportTypes,
  report: (error) => report(error, 'export'),
})

export const step = async (input: StepInput): Promise<StepOutput> => exportStep(await parts())(input)

/**
 * `jobs`: every minute, those without an execution go on, and what is left of cancelled ones is removed. `expired`: every hour, what nobody may
 * have any more is removed. `schedules`: every five minutes, it is told which of those on schedules failed, or are late.
 */
export type ExportSweep =
  | { readonly sweep: 'jobs' | 'expired' }
  | { readonly sweep: 'schedules'; readonly schedules: readonly WatchedSchedule[] }

export async function sweepExports(asked: ExportSweep): Promise<void> {
  const swept = { rows: jobRows(), blobs: exportFiles(), now }
  if (asked.sweep === 'schedules') return tellTroubles(asked.schedules)
  if (asked.sweep === 'expired') return removeExpired(swept, config().exportRetentionDays)
  await resumeJobs(swept, exportWorkflow())
  await removeStopped(swept)
  await tellAge()
}

/** Of the jobs under way. */
async function tellAge(): Promise<void> {
  const at = now()
  const ages: number[] = []
  for await (const { value } of jobRows().list<Job>(JOBS)) if (value.state === 'in-progress') ages.push(at - value.transactionTime)
  metric('ExportAge', 'Milliseconds', ages, { stage: places().stage, at })
}

async function tellTroubles(schedules: readonly WatchedSchedule[]): Promise<void> {
  const { failed, late } = await watchSchedules(jobRows(), schedules, now())
  const told = { stage: places().stage, at: now() }
  metric('ScheduledExportsFailed', 'Count', [failed.length], { ...told, names: failed })
  metric('ScheduledExportsLate', 'Count', [late.length], { ...told, names: late })
}
