/**
 * What the expressions of a process that may take long may take together: a few that take long are borne, hundreds are not. What they took is
 * earned back by evaluations that take little, and slowly by those that are not begun, so it needs no clock.
 *
 * Each tenant has a purse, and all draw on one chest, which holds two of them: nobody may take more than he leaves there. So one alone never
 * meets its end, the next one has half a purse at least, and all together never take more than there is.
 */

/** ms of processor time for one evaluation, and for those that are begun now; `overruns`: of one expression, after which it is given up. */
export type EvaluationLimits = { readonly each: number; readonly all: number; readonly overruns: number }

/** `ms`: what an evaluation took; 0 where it was not begun. */
export type EvaluationCost = { readonly ms: number; readonly isTooCostly: boolean }

/** ms of processor time. No expression on one resource is worth more. */
const LONGEST = 250
/** And where little is left. */
const SHORTEST = 10
/** ms: 20 evaluations that were stopped. */
const MOST = 20 * LONGEST
/** ms: 500 that are stopped soon, when that is used up. */
const LAST = 500 * SHORTEST
/** Of the chest. */
const PURSES = 2
/** ms that an evaluation may take without a thought. */
const CHEAP = 25
/** ms a cheap evaluation brings back: 8000 make up for one that was stopped. */
const EARNED = 1 / 32
/** ms one brings back that was not begun since nothing is left. */
const PASSED = 1 / 64

/** What all purses of a process draw on: ms. */
export class SharedBudget {
  readonly #full: number
  #left: number

  constructor(full = PURSES * (MOST + LAST)) {
    this.#full = full
    this.#left = full
  }

  get left(): number {
    return this.#left
  }

  take(ms: number): void {
    this.#left -= ms
  }

  give(ms: number): void {
    this.#left = Math.min(this.#full, this.#left + ms)
  }
}

export class EvaluationBudget {
  readonly #last: number
  readonly #full: number
  readonly #chest: SharedBudget
  #own: number

  /** `most`: ms of processor time that are given freely; `last`: when they are used up. `chest`: of several; absent: one of its own. */
  constructor(most = MOST, last = LAST, chest = new SharedBudget(PURSES * (most + last))) {
    this.#last = last
    this.#full = most + last
    this.#chest = chest
    this.#own = this.#full
  }

  get #left(): number {
    return Math.min(this.#own, this.#chest.left - (this.#full - this.#own))
  }

  /** Undefined: nothing is left. */
  allowance(): EvaluationLimits | undefined {
    const free = this.#left - this.#last
    if (free >= LONGEST) return { each: LONGEST, all: free, overruns: 4 }
    return this.#left < SHORTEST ? undefined : { each: SHORTEST, all: this.#left, overruns: 1 }
  }

  settle({ ms, isTooCostly }: EvaluationCost): void {
    if (isTooCostly || ms > CHEAP) this.#take(ms)
    else this.#give(EARNED)
  }

  /** So many are not begun. */
  pass(count: number): void {
    if (this.#left < SHORTEST) this.#give(Math.min(SHORTEST - this.#left, count * PASSED))
  }

  #take(ms: number): void {
    this.#own -= ms
    this.#chest.take(ms)
  }

  #give(ms: number): void {
    this.#own = Math.min(this.#full, this.#own + ms)
    this.#chest.give(ms)
  }
}

/** What one expression has of a purse. */
export class PerExpressionBudget {
  readonly #purse: EvaluationBudget
  #overruns = 0

  constructor(purse: EvaluationBudget) {
    this.#purse = purse
  }

  /** Undefined: no evaluation is begun, or not now. */
  allowance(): EvaluationLimits | undefined {
    const allowance = this.#purse.allowance()
    const overruns = (allowance?.overruns ?? 0) - this.#overruns
    return allowance === undefined || overruns <= 0 ? undefined : { ...allowance, overruns }
  }

  /** How many of them, from the first on, were begun. */
  settle(outcomes: readonly EvaluationCost[]): number {
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

const CHEST = new SharedBudget()
const OF_TENANTS = new Map<string, EvaluationBudget>()

/** Of all expressions of a tenant in this process. */
export function evaluationBudgetOf(tenant: string): EvaluationBudget {
  const purse = OF_TENANTS.get(tenant) ?? new EvaluationBudget(MOST, LAST, CHEST)
  OF_TENANTS.set(tenant, purse)
  return purse
}
