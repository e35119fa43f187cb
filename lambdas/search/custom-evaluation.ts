/**
 * Evaluates the expressions of custom parameters within the evaluation budget of their tenant. If an evaluation fails or is stopped, the
 * resource gets no values of that parameter. Its other parameters are still extracted.
 */
import type { Branch } from '../fhir/path/branch.ts'
import { mayTakeLong } from '../fhir/path/costly-functions.ts'
import { prepareBranches, type TypedValue } from '../fhir/path/steps.ts'
import { runEachWithin, type TimedOutcome } from '../fhir/path/time-limit.ts'
import { MAX_WORK_ITEMS, TooCostly, TookTooLong } from '../fhir/path/work-budget.ts'
import { isElement } from '../fhir/resource.ts'
import type { ExpressionRunner } from '../ports/execution/expression-runner.ts'
import type { CustomMapping } from './custom-mapping.ts'
import { type EvaluationBudget, type EvaluationCost, PerExpressionBudget } from './evaluation-budget.ts'
import { type EvaluationInput, InterpretedExpression } from './interpreted-values.ts'

/** Receives the error of each failed evaluation. `code`: code of the custom parameter. */
export type OnFailure = (code: string, error: unknown) => void

export type CustomEvaluation = {
  readonly values: (input: EvaluationInput, onFailure?: OnFailure) => readonly TypedValue[]
  /**
   * Evaluates many inputs in advance, so that `values` finds the results. Present if the expression may be slow or is interpreted. Returns
   * a promise if it is asynchronous.
   */
  readonly ahead?: (inputs: readonly EvaluationInput[], expressions: ExpressionRunner) => Promise<void> | void
}

/**
 * Creates the evaluation of an expression. `code`: code of its parameter. `expression`: compiled branches, or an interpreted expression. An
 * interpreted expression has values only after `ahead`.
 */
export function customEvaluation(
  code: string,
  expression: readonly Branch[] | InterpretedExpression,
  budget: EvaluationBudget,
): CustomEvaluation {
  if (expression instanceof InterpretedExpression)
    return {
      values: reportFailures(code, (input) => expression.values(input.key)),
      ahead: (inputs, expressions) => expression.ahead(inputs, expressions),
    }
  const evaluate = prepareBranches(expression, MAX_WORK_ITEMS)
  const plain = (input: EvaluationInput): readonly TypedValue[] => evaluate(focusOf(input), input.resource)
  if (!mayTakeLong(expression)) return { values: reportFailures(code, plain) }
  const budgeted = new BudgetedEvaluation(plain, budget)
  return { values: reportFailures(code, (input) => budgeted.values(input)), ahead: (inputs) => budgeted.ahead(inputs) }
}

const focusOf = ({ resource, focus }: EvaluationInput): unknown => (focus === undefined ? resource : focus.value)

const reportFailures =
  (code: string, evaluate: (input: EvaluationInput) => readonly TypedValue[]): CustomEvaluation['values'] =>
  (input, onFailure) => {
    try {
      return evaluate(input)
    } catch (error) {
      onFailure?.(code, error)
      return []
    }
  }

const SLOW = new WeakMap<CustomMapping, boolean>()

/** Whether an expression of the parameter may be slow or is interpreted, so that the evaluation budget of the tenant limits it. */
export function usesEvaluationBudget(mapping: CustomMapping): boolean {
  const { interpreted, values, components = [] } = mapping
  const isSlow = SLOW.get(mapping) ?? (interpreted === true || mayTakeLong([values, components.map((each) => each.values)]))
  SLOW.set(mapping, isSlow)
  return isSlow
}

/** Whether one of these parameters is interpreted. Such a parameter has no values unless `evaluateAhead` runs before the extraction. */
export const hasInterpretedMappings = (custom: readonly CustomMapping[] = []): boolean =>
  custom.some(({ interpreted }) => interpreted === true)

/**
 * Maximum processor time of one evaluation in this thread, in milliseconds. A longer one is stopped, because all other work of the thread
 * waits.
 */
const MAX_EVALUATION_MS = 90
/** Limits of the evaluations between two yields. `ms`: processor time after which no evaluation starts. `count`: maximum evaluations. */
const PIECE = { ms: 10, count: 64 }

class BudgetedEvaluation {
  readonly #evaluate: (input: EvaluationInput) => readonly TypedValue[]
  readonly #cache = new WeakMap<object, TimedOutcome<readonly TypedValue[]>>()
  readonly #share: PerExpressionBudget

  constructor(evaluate: (input: EvaluationInput) => readonly TypedValue[], budget: EvaluationBudget) {
    this.#evaluate = evaluate
    this.#share = new PerExpressionBudget(budget)
  }

  values(input: EvaluationInput): readonly TypedValue[] {
    const focus = focusOf(input)
    const cached = isElement(focus) ? this.#cache.get(focus) : undefined
    const outcome = cached ?? this.#outcomes([input])[0]!
    if ('error' in outcome) throw outcome.error
    return outcome.result
  }

  /** Evaluates the inputs that start at an element, and caches the outcomes for `values`. Yields to other work between pieces. */
  async ahead(inputs: readonly EvaluationInput[]): Promise<void> {
    const elements = inputs.filter((input) => isElement(focusOf(input)))
    for (let first = 0; first < elements.length; ) {
      const outcomes = this.#outcomes(elements.slice(first, first + PIECE.count))
      for (const [i, outcome] of outcomes.entries()) this.#cache.set(focusOf(elements[first + i]!) as object, outcome)
      first += outcomes.length
      if (first < elements.length) await new Promise((resolve) => setImmediate(resolve))
    }
  }

  /**
   * Returns the outcomes of the first inputs, up to those that no longer start in this piece. If the budget allows no evaluation, all
   * inputs fail with TookTooLong.
   */
  #outcomes(inputs: readonly EvaluationInput[]): readonly TimedOutcome<readonly TypedValue[]>[] {
    const limits = this.#share.nextLimits()
    if (limits === undefined) {
      this.#share.pass(inputs.length)
      return inputs.map(() => ({ ms: 0, error: new TookTooLong() }))
    }
    const works = inputs.map((input) => () => this.#evaluate(input))
    const { each, all } = limits
    const outcomes = runEachWithin({ each: Math.min(each, MAX_EVALUATION_MS), all: Math.min(all, PIECE.ms), overruns: 1 }, works)
    return outcomes.slice(0, this.#share.settle(outcomes.map(settledOf)))
  }
}

const settledOf = (outcome: TimedOutcome<unknown>): EvaluationCost => ({
  ms: outcome.ms,
  isTooCostly: 'error' in outcome && outcome.error instanceof TooCostly,
})
