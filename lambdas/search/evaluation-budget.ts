/**
 * Limits the total processor time that slow expressions take in a process. A few slow evaluations are affordable, hundreds are not. Fast
 * evaluations earn time back, and skipped ones do so more slowly. So the budget refills without a clock.
 *
 * Each tenant has a budget, and all budgets draw on one shared budget of twice the size. A tenant may not take more from it than it leaves
 * there. So a single tenant never reaches the end of the shared budget. The next tenant gets at least half a budget. All tenants together
 * never exceed the shared budget.
 */

/**
 * Limits in milliseconds of processor time. `each`: one evaluation. `all`: all evaluations that start now. `overruns`: evaluations of one
 * expression that may be stopped. After that the expression is abandoned.
 */
export type EvaluationLimits = { readonly each: number; readonly all: number; readonly overruns: number }

/** `ms`: processor time of an evaluation in milliseconds, 0 if it did not start. */
export type EvaluationCost = { readonly ms: number; readonly isTooCostly: boolean }

/** Maximum processor time of one evaluation, in milliseconds. No expression on one resource is worth more. */
const LONGEST = 250
/** The same maximum if little of the budget is left, in milliseconds. */
const SHORTEST = 10
/** Budget for evaluations up to `LONGEST`, in milliseconds: 20 that are stopped. */
const FULL = 20 * LONGEST
/** Budget that remains after `FULL` is used up, in milliseconds: 500 evaluations that are stopped at `SHORTEST`. */
const RESERVE = 500 * SHORTEST
/** Size of the shared budget, in budgets of a tenant. */
const SHARED_FACTOR = 2
/** Maximum milliseconds of an evaluation that is free of charge. */
const CHEAP = 25
/** Milliseconds that a cheap evaluation earns back. 8,000 of them make up for one that was stopped. */
const EARNED = 1 / 32
/** Milliseconds that a skipped evaluation earns back while the budget is used up. */
const PASSED = 1 / 64

/** Milliseconds that all tenants of a process share. */
export class SharedBudget {
  readonly #full: number
  #left: number

  constructor(full = SHARED_FACTOR * (FULL + RESERVE)) {
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
  readonly #reserve: number
  readonly #full: number
  readonly #shared: SharedBudget
  #own: number

  /**
   * `full`: milliseconds for evaluations of full length. `reserve`: milliseconds for short ones after that. `shared`: shared budget, or a
   * new one.
   */
  constructor(full = FULL, reserve = RESERVE, shared = new SharedBudget(SHARED_FACTOR * (full + reserve))) {
    this.#reserve = reserve
    this.#full = full + reserve
    this.#shared = shared
    this.#own = this.#full
  }

  get #left(): number {
    return Math.min(this.#own, this.#shared.left - (this.#full - this.#own))
  }

  /** Returns the limits of the next evaluations, or undefined if the budget is used up. */
  nextLimits(): EvaluationLimits | undefined {
    const free = this.#left - this.#reserve
    if (free >= LONGEST) return { each: LONGEST, all: free, overruns: 4 }
    return this.#left < SHORTEST ? undefined : { each: SHORTEST, all: this.#left, overruns: 1 }
  }

  settle({ ms, isTooCostly }: EvaluationCost): void {
    if (isTooCostly || ms > CHEAP) this.#take(ms)
    else this.#give(EARNED)
  }

  /** Records skipped evaluations. They refill an empty budget up to one short evaluation. */
  pass(count: number): void {
    if (this.#left < SHORTEST) this.#give(Math.min(SHORTEST - this.#left, count * PASSED))
  }

  #take(ms: number): void {
    this.#own -= ms
    this.#shared.take(ms)
  }

  #give(ms: number): void {
    this.#own = Math.min(this.#full, this.#own + ms)
    this.#shared.give(ms)
  }
}

/** Share of one expression in a budget. */
export class PerExpressionBudget {
  readonly #budget: EvaluationBudget
  #overruns = 0

  constructor(budget: EvaluationBudget) {
    this.#budget = budget
  }

  /** Returns undefined if no evaluation may start: the budget is used up or the expression had too many overruns. */
  nextLimits(): EvaluationLimits | undefined {
    const limits = this.#budget.nextLimits()
    const overruns = (limits?.overruns ?? 0) - this.#overruns
    return limits === undefined || overruns <= 0 ? undefined : { ...limits, overruns }
  }

  /** Charges the evaluations that started and returns their number. All of them precede the first that did not start. */
  settle(outcomes: readonly EvaluationCost[]): number {
    const notStarted = outcomes.findIndex(({ ms, isTooCostly }) => isTooCostly && ms === 0)
    const started = notStarted < 0 ? outcomes : outcomes.slice(0, notStarted)
    for (const outcome of started) {
      if (outcome.isTooCostly) this.#overruns++
      this.#budget.settle(outcome)
    }
    return started.length
  }

  pass(count: number): void {
    this.#budget.pass(count)
  }
}

const SHARED = new SharedBudget()
const TENANT_BUDGETS = new Map<string, EvaluationBudget>()

/** Returns the budget of all expressions of a tenant in this process. */
export function evaluationBudgetOf(tenant: string): EvaluationBudget {
  const budget = TENANT_BUDGETS.get(tenant) ?? new EvaluationBudget(FULL, RESERVE, SHARED)
  TENANT_BUDGETS.set(tenant, budget)
  return budget
}
