/**
 * Share of processor time that an export leaves to requests. On a machine with few processors, an export works one part in this number of
 * the time while requests arrive. It reads no clock.
 */

export const CPU_SHARE_DIVISOR = 5
/** Maximum processors of a machine on which exports pause for requests. */
const SMALL = 3
/** Maximum pause in milliseconds, because clients may have stopped sending requests meanwhile. */
const LONGEST = 1_000
/** Path of the status of a job. */
const STATUS = /^\/export\/[^/]+$/

/**
 * Counts a request for `pauseAfter`. Status requests do not count, or a job would pause whenever its client polls its status. `requests`: counter
 * that is shared with the threads of exports. `path`: path below the base URL.
 */
export function countRequest(requests: Int32Array, path: string): void {
  if (!STATUS.test(path)) Atomics.add(requests, 0, 1)
}

export class CpuShare {
  readonly #isSmall: boolean
  #seen = 0

  constructor(processors: number) {
    this.#isSmall = processors <= SMALL
  }

  /**
   * Returns the milliseconds to pause after `worked` milliseconds of processor time. 0 on a larger machine, or if no request arrived since
   * the last call. `requests`: number of counted requests since the server started.
   */
  pauseAfter(worked: number, requests: number): number {
    const isAsked = requests !== this.#seen
    this.#seen = requests
    return this.#isSmall && isAsked ? Math.min(worked * (CPU_SHARE_DIVISOR - 1), LONGEST) : 0
  }
}
