/**
 * When the index leaves a machine to the writes: while many versions at once keep coming and nobody searches, it works one part in so many of
 * the time on a machine of few processors, until making up for it would take too long. Told what happens and when; knows no clock.
 */

/**
 * `flood`: versions of a commit; `pause`: milliseconds without such a commit after which the index works again; `behind`: versions, a few
 * slices; `debt`: milliseconds of processor time that making up for it may take.
 */
export const YIELDING = { parts: 8, flood: 50, pause: 100, behind: 1_000, debt: 12_000 } as const
/** Versions after which what came before counts half. */
const WORK_REMEMBERED = 20_000
/** Processors of a machine on which the index takes time from the writes. */
const SMALL = 3

/** `behind`: versions that are not indexed yet; `asked`: searches that wait for them; `took`: milliseconds of the slice that just ended. */
export type Moment = { readonly now: number; readonly behind: number; readonly asked: number; readonly took: number }

export class Yielding {
  readonly #isSmall: boolean
  #flooded = Number.NEGATIVE_INFINITY
  /** Versions taken in, and the milliseconds of processor time this took; what was long ago counts little. */
  #work = { versions: 0, ms: 0 }

  constructor(processors: number) {
    this.#isSmall = processors <= SMALL
  }

  /** The store acknowledged so many versions. */
  acknowledged(versions: number, now: number): void {
    if (versions >= YIELDING.flood) this.#flooded = now
  }

  /** So many versions were indexed in so many milliseconds of processor time. */
  worked(versions: number, ms: number): void {
    const fading = this.#work.versions > WORK_REMEMBERED ? 0.5 : 1
    this.#work = { versions: this.#work.versions * fading + versions, ms: this.#work.ms * fading + ms }
  }

  /** Milliseconds to leave to others now. */
  pauseAfter({ now, behind, asked, took }: Moment): number {
    const isFlooded = now - this.#flooded < YIELDING.pause
    const isTolerable = behind > YIELDING.behind && (behind * this.#work.ms) / this.#work.versions < YIELDING.debt
    return this.#isSmall && asked === 0 && isFlooded && isTolerable ? took * (YIELDING.parts - 1) : 0
  }
}
