/**
 * What the expressions of a process that may take long may take together: a few that take long are borne, hundreds are not. What they took is
 * earned back by evaluations that take little, and slowly by those that are not begun, so it needs no clock.
 */

/** ms of processor time for one evaluation, and for those that are begun now; `overruns`: of one expression, after which it is given up. */
export type Allowance = { readonly each: number; readonly all: number; readonly overruns: number }

/** `ms`: what an evaluation took; 0 where it was not begun. */
export type Settled = { readonly ms: number; readonly isTooCostly: boolean }

/** ms of processor time. No expression on one resource is worth more. */
const LONGEST = 250
/** And where little is left. */
const SHORTEST = 10
/** ms: 20 evaluations that were stopped. */
const MOST = 20 * LONGEST
/** ms: 500 that are stopped soon, when that is used up. */
const LAST = 500 * SHORTEST
/** ms that an evaluation may take without a thought. */
const CHEAP = 25
/** ms a cheap evaluation brings back: 8000 make up for one that was stopped. */
const EARNED = 1 / 32
/** ms one brings back that was not begun since nothing is left. */
const PASSED = 1 / 64

export class Purse {
  readonly #last: number
  readonly #full: number
  #left: number

  /** `most`: ms of processor time that are given freely; `last`: when they are used up. */
  constructor(most = MOST, last = LAST) {
    this.#last = last
    this.#full = most + last
    this.#left = this.#full
  }

  /** Undefined: nothing is left. */
  allowance(): Allowance | undefined {
    const free = this.#left - this.#last
    if (free >= LONGEST) return { each: LONGEST, all: free, overruns: 4 }
    return this.#left < SHORTEST ? undefined : { each: SHORTEST, all: this.#left, overruns: 1 }
  }

  settle({ ms, isTooCostly }: Settled): void {
    if (isTooCostly || ms > CHEAP) this.#left -= ms
    else this.#left = Math.min(this.#full, this.#left + EARNED)
  }

  /** So many are not begun. */
  pass(count: number): void {
    if (this.#left < SHORTEST) this.#left = Math.min(SHORTEST, this.#left + count * PASSED)
  }
}

/** What one expression has of a purse. */
export class Share {
  readonly #purse: Purse
  #overruns = 0

  constructor(purse: Purse) {
    this.#purse = purse
  }

  /** Undefined: no evaluation is begun, or not now. */
  allowance(): Allowance | undefined {
    const allowance = this.#purse.allowance()
    const overruns = (allowance?.overruns ?? 0) - this.#overruns
    return allowance === undefined || overruns <= 0 ? undefined : { ...allowance, overruns }
  }

  /** How many of them, from the first on, were begun. */
  settle(outcomes: readonly Settled[]): number {
    const notBegun = outcomes.findIndex(({ ms, isTooCostly }) => isTooCostly && ms === 0)
    const begun = notBegun < 0 ? outcomes : outcomes.slice(0, notBegun)
    for (const outcome of begun) {
      if (outcome.isTooCostly) this.#overruns++
      this.#purse.settle(outcome)
    }
    return begun.length
  }

  pass(count: number): void {
    this.#purse.pass(count)
  }
}

/** Of all expressions of the process. */
export const SHARED = new Purse()
