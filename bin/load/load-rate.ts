/** Rate and remaining time of a load. */

/** Milliseconds of data that an estimate needs. With less data the estimate would vary too much. */
const MIN_DATA = 10_000

const [SECOND, MINUTE, HOUR] = [1_000, 60_000, 3_600_000]

/** Measures a load. `now`: milliseconds of a monotonic clock. */
export class LoadRate {
  readonly #now: () => number
  readonly #start: number
  #last: number
  #resources = 0
  #bytes = 0

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
    this.#start = this.#last = now()
  }

  /** Adds the resources and bytes since the last call. */
  add(resources: number, bytes: number): void {
    this.#resources += resources
    this.#bytes += bytes
    this.#last = this.#now()
  }

  get resources(): number {
    return this.#resources
  }

  /** Returns the resources per second until the last call of `add`. */
  rate(resources = this.#resources): number {
    const elapsed = this.#last - this.#start
    return elapsed === 0 ? 0 : Math.round((resources * SECOND) / elapsed)
  }

  /** Returns the time that the rest of `total` bytes takes at this rate, or undefined if the rate is unknown. */
  left(total: number): string | undefined {
    const elapsed = this.#last - this.#start
    if (elapsed < MIN_DATA || this.#bytes === 0) return undefined
    const left = (elapsed * (total - this.#bytes)) / this.#bytes
    if (left <= MINUTE) return `${Math.ceil(left / SECOND)} s`
    const minutes = Math.ceil(left / MINUTE)
    return left <= HOUR ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
  }
}
