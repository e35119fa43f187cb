/**
 * Limits the total processor time that slow expressions take in a thread. A few slow evaluations are affordable, hundreds are not. Fast
 * evaluations earn time back, and skipped ones earn less. So the budget refills without a clock.
 *
 * Each tenant has a budget, and all tenants draw on one shared budget of twice that size. A tenant stops when it has taken as much as it
 * leaves in the shared budget. So the first tenant can use its whole budget, the next one at least half, and a third at least a quarter.
 */

/**
 * Limits in milliseconds of processor time. `each`: one evaluation, which is stopped at this limit. `all`: all evaluations of one call.
 * `overruns`: stopped evaluations of an expression after which no further evaluation of it starts.
 */
export type EvaluationLimits = { readonly each: number; readonly all: number; readonly overruns: number }

/** Cost of one evaluation. `ms`: its processor time in milliseconds, 0 if it did not start. `isTooCostly`: whether it exceeded a limit. */
export type EvaluationCost = { readonly ms: number; readonly isTooCostly: boolean }

/** Maximum processor time of one evaluation, in milliseconds. A longer one is stopped. */
const LONGEST = 250
/** Maximum processor time of one evaluation in milliseconds once only the reserve of the budget is left. */
const SHORTEST = 10
/** Milliseconds of a tenant's budget for evaluations up to `LONGEST`: enough for 20 that are stopped. */
const FULL = 20 * LONGEST
/** Milliseconds of a tenant's budget that remain after `FULL` is used up: enough for 500 evaluations that are stopped at `SHORTEST`. */
const RESERVE = 500 * SHORTEST
/** Size of the shared budget, as a multiple of one tenant's budget. */
const SHARED_FACTOR = 2
/** Maximum milliseconds of a cheap evaluation. It costs nothing and earns `EARNED`. */
const CHEAP = 25
/** Milliseconds that a cheap evaluation adds to the budget. 8,000 of them make up for one evaluation that was stopped at `LONGEST`. */
const EARNED = 1 / 32
/** Milliseconds that a skipped evaluation adds to a budget that is used up. */
const PASSED = 1 / 64

/** Milliseconds of processor time that all tenants of a thread share. */
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
   * `full`: milliseconds for evaluations up to `LONGEST`. `reserve`: milliseconds that remain for short evaluations. `shared`: budget of
   * all tenants. Default: a new one.
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

  /** Adds milliseconds for skipped evaluations to a budget that is used up, until one short evaluation is possible. */
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

/** View of one expression on the budget of its tenant. It also counts the overruns of the expression. */
export class PerExpressionBudget {
  readonly #budget: EvaluationBudget
  #overruns = 0

  constructor(budget: EvaluationBudget) {
    this.#budget = budget
  }

  /** Returns the limits of the next evaluations. Returns undefined if the budget is used up or the expression had too many overruns. */
  nextLimits(): EvaluationLimits | undefined {
    const limits = this.#budget.nextLimits()
    const overruns = (limits?.overruns ?? 0) - this.#overruns
    return limits === undefined || overruns <= 0 ? undefined : { ...limits, overruns }
  }

  /** Charges the evaluations before the first one that did not start. Returns their number. */
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

/** Returns the budget that all expressions of a tenant share in this thread. */
export function evaluationBudgetOf(tenant: string): EvaluationBudget {
  const budget = TENANT_BUDGETS.get(tenant) ?? new EvaluationBudget(FULL, RESERVE, SHARED)
  TENANT_BUDGETS.set(tenant, budget)
  return budget
}
