/** How fast an index comes further while it is behind, and so how long it takes to be somewhere. Told what happens and when; knows no clock. */

/** Seconds that are told: nobody is sent away for longer, nor asked back at once. */
const TOLD = { least: 1, most: 120 }

export class Pace {
  #from: { readonly position: number; readonly now: number } | undefined
  #position = 0
  /** Positions in a millisecond; undefined where it has not been behind yet. */
  #rate: number | undefined

  /** `now`: milliseconds; `isThere`: it is behind no longer. */
  cameTo(position: number, now: number, isThere: boolean): void {
    this.#position = position
    this.#from ??= { position, now }
    const took = now - this.#from.now
    if (took > 0 && position > this.#from.position) this.#rate = (position - this.#from.position) / took
    if (isThere) this.#from = undefined
  }

  /** Seconds until it will be there, rounded up. */
  secondsTo(position: number): number {
    if (this.#rate === undefined) return TOLD.least
    const seconds = Math.ceil((position - this.#position) / this.#rate / 1_000)
    return Math.min(Math.max(seconds, TOLD.least), TOLD.most)
  }
}
