/** Checks whether the job is still in progress with the writer's attempt. A client may stop the job at any time. */
import type { ExportParts } from '../step-types.ts'
import type { Job } from './job.ts'
import { isUnderWay, readJob } from './job-transitions.ts'

/** Minimum milliseconds between two reads of the job. In between, `isWanted` returns true without a read. */
const EVERY = 1_000

export class JobWatch {
  readonly #parts: Pick<ExportParts, 'rows' | 'elapsed'>
  readonly #job: Job
  #next: number

  constructor(parts: Pick<ExportParts, 'rows' | 'elapsed'>, job: Job) {
    this.#parts = parts
    this.#job = job
    this.#next = parts.elapsed() + EVERY
  }

  async isWanted(): Promise<boolean> {
    const now = this.#parts.elapsed()
    if (now < this.#next) return true
    this.#next = now + EVERY
    return isUnderWay(await readJob(this.#parts.rows, this.#job.id), this.#job.attempt)
  }
}
