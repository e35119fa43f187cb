/**
 * Measures how fast an index catches up, and estimates when it reaches a position. It reads no clock: positions and times are parameters.
 */

/**
 * Minimum and maximum of `secondsTo`, in seconds. Clients use it as Retry-After, so they neither retry at once nor wait longer than `most`.
 */
const TOLD = { least: 1, most: 120 }
/** Number of measured versions above which they count half when more are added, so that the rate follows the latest work. */
const REMEMBERED = 20_000
/** Milliseconds without progress after which the index counts as stopped. */
const STILL = 2_000

export class CatchUpRate {
  /** Last progress that was recorded. Undefined if the index is not behind. */
  #last: { readonly position: number; readonly now: number } | undefined
  #position = 0
  /** Versions indexed and milliseconds spent since the index fell behind. Older work counts less. */
  #work = { versions: 0, ms: 0 }
  /** Positions per millisecond. Undefined until progress was measured for the first time. */
  #rate: number | undefined

  /** Records the position of the index. `now`: milliseconds. `isThere`: whether the index has caught up. */
  cameTo(position: number, now: number, isThere: boolean): void {
    this.#position = position
    const last = this.#last
    if (last === undefined) this.#work = { versions: 0, ms: 0 }
    else if (position > last.position) this.#worked(position - last.position, now - last.now)
    if (isThere) this.#last = undefined
    else if (position !== last?.position) this.#last = { position, now }
  }

  #worked(versions: number, ms: number): void {
    const fading = this.#work.versions > REMEMBERED ? 0.5 : 1
    this.#work = { versions: this.#work.versions * fading + versions, ms: this.#work.ms * fading + ms }
    if (this.#work.ms > 0) this.#rate = this.#work.versions / this.#work.ms
  }

  /** Returns the seconds until the index reaches the position, rounded up and within TOLD. Returns `least` if the rate is unknown. */
  secondsTo(position: number): number {
    if (this.#rate === undefined) return TOLD.least
    const seconds = Math.ceil((position - this.#position) / this.#rate / 1_000)
    return Math.min(Math.max(seconds, TOLD.least), TOLD.most)
  }

  /**
   * Returns the milliseconds until the index reaches the position. Returns 0 if the rate is unknown, or the index is not behind or has
   * stopped.
   */
  msTo(position: number, now: number): number {
    if (this.#rate === undefined || this.#last === undefined || now - this.#last.now > STILL) return 0
    return Math.max(0, position - this.#position) / this.#rate
  }
}
