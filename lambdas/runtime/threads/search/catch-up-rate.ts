/** Measures how fast an index catches up, and so how long it takes to reach a position. Takes positions and times; has no clock. */

/** Limits of `secondsTo`: no client has to wait longer, or asks again at once. */
const TOLD = { least: 1, most: 120 }
/** Versions after which the versions before count half. */
const REMEMBERED = 20_000
/** Milliseconds without a step after which the index stands still. */
const STILL = 2_000

export class CatchUpRate {
  /** The last step; undefined where the index is not behind. */
  #last: { readonly position: number; readonly now: number } | undefined
  #position = 0
  /** Since the index fell behind. */
  #work = { versions: 0, ms: 0 }
  /** Positions in a millisecond; undefined where it has not been behind yet. */
  #rate: number | undefined

  /** `now`: milliseconds; `isThere`: it is behind no longer. */
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

  /** Seconds until it will be there, rounded up. */
  secondsTo(position: number): number {
    if (this.#rate === undefined) return TOLD.least
    const seconds = Math.ceil((position - this.#position) / this.#rate / 1_000)
    return Math.min(Math.max(seconds, TOLD.least), TOLD.most)
  }

  /** Milliseconds until it will be there; 0 where that is not known, or the index stands still. */
  msTo(position: number, now: number): number {
    if (this.#rate === undefined || this.#last === undefined || now - this.#last.now > STILL) return 0
    return Math.max(0, position - this.#position) / this.#rate
  }
}
