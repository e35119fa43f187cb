/** Waiting for all commits up to an instant, for at most one slice. */
import type { Job } from '../job/job.ts'
import type { JobWatch } from '../job/job-watch.ts'
import type { ExportParts } from '../step-types.ts'

/** Milliseconds between two checks. */
const PAUSE = 250

export type WaitParts = {
  readonly parts: ExportParts
  readonly job: Job
  readonly watch: JobWatch
  /** When the slice ends, by `parts.elapsed`. */
  readonly until: number
}

/** Returns true once all commits up to the instant are visible. Returns false if the slice ends first or the job is stopped. */
export async function waitUntilSettled({ parts, job, watch, until }: WaitParts, instant: number): Promise<boolean> {
  for (;;) {
    // An instant up to the transaction time has passed on the commit clock: the plan has waited for it.
    if ((instant <= job.transactionTime || parts.now() > instant) && (await parts.resources.settled(job.tenant, instant))) return true
    if (parts.elapsed() >= until || !(await watch.isWanted())) return false
    await new Promise((resolve) => setTimeout(resolve, PAUSE))
  }
}
