/**
 * What the watched expressions of a process may take together: a few that take long are borne, hundreds are not. What they took is
 * earned back by evaluations that take little, so it needs no clock.
 */
import { LONGEST } from './interpreted.ts'

/** `each`: ms of processor time for one evaluation; `overruns`: of one expression, after which it is not begun any more. */
export type Allowance = { readonly each: number; readonly overruns: number }

const PLENTY: Allowance = { each: LONGEST, overruns: 4 }
/** Where nothing is left. */
const LITTLE: Allowance = { each: 10, overruns: 1 }
/** ms: 20 evaluations that were stopped. */
const MOST = 20 * LONGEST
/** ms that an evaluation may take without a thought. */
const CHEAP = 25
/** ms a cheap evaluation brings back: 8000 make up for one that was stopped. */
const EARNED = 1 / 32

export class Purse {
  readonly #most: number
  #left: number

  /** `most`: ms of processor time. */
  constructor(most = MOST) {
    this.#most = most
    this.#left = most
  }

  allowance(): Allowance {
    return this.#left < LONGEST ? LITTLE : PLENTY
  }

  /** `ms`: what one evaluation took. */
  settle(ms: number): void {
    this.#left = ms > CHEAP ? Math.max(0, this.#left - ms) : Math.min(this.#most, this.#left + EARNED)
  }
}
