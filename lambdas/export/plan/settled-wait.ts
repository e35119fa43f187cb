/** Waits until all commits up to an instant are visible, for at most one slice. */
import type { Job } from '../job/job.ts'
import type { JobWatch } from '../job/job-watch.ts'
import type { ExportParts } from '../step-types.ts'

/** Milliseconds between two checks. */
const PAUSE = 250

export type WaitParts = {
  readonly parts: ExportParts
  readonly job: Job
  readonly watch: JobWatch
  /** Value of `parts.elapsed()` at which the slice ends. */
  readonly until: number
}

/** Returns true once all commits up to the instant are visible. Returns false if the slice ends first or the job is stopped. */
export async function waitUntilSettled({ parts, job, watch, until }: WaitParts, instant: number): Promise<boolean> {
  for (;;) {
    // A later commit may still carry an instant that is not past. The plan already waited for the transaction time, so only later instants
    // are compared with the clock.
    if ((instant <= job.transactionTime || parts.now() > instant) && (await parts.resources.settled(job.tenant, instant))) return true
    if (parts.elapsed() >= until || !(await watch.isWanted())) return false
    await new Promise((resolve) => setTimeout(resolve, PAUSE))
  }
}
