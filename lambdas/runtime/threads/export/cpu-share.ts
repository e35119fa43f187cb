/** What an export leaves to requests: while there are any, it works one part in so many of the time on a machine of few processors. Knows no clock. */

export const CPU_SHARE_DIVISOR = 5
/** Processors of a machine on which an export takes time from requests. */
const SMALL = 3
/** Milliseconds: whoever asked may have gone. */
const LONGEST = 1_000

export class CpuShare {
  readonly #isSmall: boolean
  #seen = 0

  constructor(processors: number) {
    this.#isSmall = processors <= SMALL
  }

  /** Milliseconds to leave to others after so many of processor time. `requests`: how many came since the server began. */
  pauseAfter(worked: number, requests: number): number {
    const isAsked = requests !== this.#seen
    this.#seen = requests
    return this.#isSmall && isAsked ? Math.min(worked * (CPU_SHARE_DIVISOR - 1), LONGEST) : 0
  }
}
