/** Waiting for everything that was written until an instant, as long as a slice of an export lasts. */
import type { Job } from '../job/job.ts'
import type { JobWatch } from '../job/job-watch.ts'
import type { ExportParts } from '../step-types.ts'

/** ms between two looks. */
const PAUSE = 250

export type WaitParts = {
  readonly parts: ExportParts
  readonly job: Job
  readonly watch: JobWatch
  /** When the slice is over, by `parts.elapsed`. */
  readonly until: number
}

/** False where the slice is over before, or the job is not wanted any more. */
export async function waitUntilSettled({ parts, job, watch, until }: WaitParts, instant: number): Promise<boolean> {
  for (;;) {
    // The plan has waited until the transaction time was past, by the clock of the stamps.
    if ((instant <= job.transactionTime || parts.now() > instant) && (await parts.resources.settled(job.tenant, instant))) return true
    if (parts.elapsed() >= until || !(await watch.isWanted())) return false
    await new Promise((resolve) => setTimeout(resolve, PAUSE))
  }
}
