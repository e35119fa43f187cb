/** Runs the steps of an export as a workflow does, and reads its files. */
import { fileKeyOf, JOB_ROWS, type Job } from '../../lambdas/export/job/job.ts'
import type { ExportParts, PlanOutput, RangePlanOutput, SliceOutput, StepInput } from '../../lambdas/export/step-types.ts'
import { exportStep } from '../../lambdas/export/workflow/workflow-step.ts'
import type { BlobStore } from '../../lambdas/ports/blobs/blob-store.ts'
import { noMatches, noMatchLimits, TEST_SEARCH_CONTEXT } from '../fixtures/exporting.ts'
import { EXPRESSIONS } from '../fixtures/expressions.ts'

type Stores = Pick<ExportParts, 'rows' | 'blobs' | 'resources' | 'index'>

let ids = 0

export const exportPartsOf = (stores: Stores, more: Partial<ExportParts> = {}): ExportParts => ({
  ...stores,
  readingOf: async () => TEST_SEARCH_CONTEXT,
  expressions: () => EXPRESSIONS,
  now: Date.now,
  elapsed: () => performance.now(),
  newId: () => `id${ids++}`,
  budget: 60_000,
  groupTypes: ['Patient', 'Observation', 'Device'],
  additionalResources: {},
  storeMatch: noMatches,
  isPartner: async () => true,
  matchLimits: noMatchLimits,
  partners: { payer: [], sensitiveLabels: 'none', payerWindowYears: 5, providerSince: '2016-01-01' },
  disclosing: { blobs: stores.blobs, payer: { name: 'Payer' } },
  report: () => undefined,
  ...more,
})

export const kickOff = ({ rows }: Pick<ExportParts, 'rows'>, job: Job): Promise<Job | undefined> =>
  rows.change<Job>(JOB_ROWS, job.id, () => job)

/** Runs the steps in the order of workflow.ts. An error ends the run, unless `again` retries each step. */
export async function runExportJob(parts: ExportParts, { id, attempt }: Pick<Job, 'id' | 'attempt'>, again = false): Promise<void> {
  const step = exportStep(parts)
  const jobInput = { job: id, attempt }
  const perform = <Output>(input: StepInput): Promise<Output> =>
    step(input).catch((error) => {
      if (again) return step(input)
      throw error
    }) as Promise<Output>
  let planned = await perform<PlanOutput>({ ...jobInput, action: 'plan' })
  while (planned.wait > 0) planned = await perform<PlanOutput>({ ...jobInput, action: 'plan' })
  await Promise.all(planned.segments.map((segment) => untilDone(() => perform({ ...jobInput, action: 'write', segment }))))
  for (;;) {
    const { ranges } = await perform<RangePlanOutput>({ ...jobInput, action: 'gather' })
    if (ranges.length === 0) break
    await Promise.all(ranges.map((range) => untilDone(() => perform({ ...jobInput, action: 'collect', range }))))
  }
  await perform({ ...jobInput, action: 'finish' })
}

async function untilDone(slice: () => Promise<SliceOutput>): Promise<void> {
  while ((await slice()).more) {}
}

export const readJob = async ({ rows }: Pick<ExportParts, 'rows'>, id: string): Promise<Job> => (await rows.read<Job>(JOB_ROWS, id))!

/** Returns the lines of each type of a job, from all its files. */
export async function readFileLines(
  blobs: Pick<BlobStore, 'get'>,
  { id, files = [] }: Job,
): Promise<Readonly<Record<string, readonly string[]>>> {
  const all: Record<string, readonly string[]> = {}
  for (const { name, size, count } of files) {
    const { bytes } = (await blobs.get(fileKeyOf(id, name)))!
    const text = new TextDecoder().decode(bytes)
    const lines = text.split('\n')
    if (lines.pop() !== '' || lines.length !== count || bytes.length !== size) throw new Error(`${name} is not what its job says`)
    const type = name.replace(/-\d+$/, '')
    all[type] = [...(all[type] ?? []), ...lines]
  }
  return all
}
