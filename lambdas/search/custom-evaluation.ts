/**
 * Evaluates the expressions of custom parameters, which may be slow or fail on a resource. Such a resource gets no values of that
 * parameter. Nothing else is affected.
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

/** Receives the errors of evaluations. `code`: code of the parameter that failed. */
export type OnFailure = (code: string, error: unknown) => void

export type CustomEvaluation = {
  readonly values: (place: EvaluationInput, onFailure?: OnFailure) => readonly TypedValue[]
  /** Evaluates many inputs together, where single evaluations are slow or impossible. Returns a promise if it is asynchronous. */
  readonly ahead?: (places: readonly EvaluationInput[], expressions: ExpressionRunner) => Promise<void> | void
}

/** Creates the evaluation of a parameter. `by`: compiled branches, or an interpreted expression, which has values only after `ahead`. */
export function customEvaluation(code: string, by: readonly Branch[] | InterpretedExpression, purse: EvaluationBudget): CustomEvaluation {
  if (by instanceof InterpretedExpression)
    return { values: caught(code, (place) => by.values(place.by)), ahead: (places, expressions) => by.ahead(places, expressions) }
  const evaluate = prepareBranches(by, MAX_WORK_ITEMS)
  const plain = (place: EvaluationInput): readonly TypedValue[] => evaluate(focusOf(place), place.resource)
  if (!mayTakeLong(by)) return { values: caught(code, plain) }
  const watched = new Watched(plain, purse)
  return { values: caught(code, (place) => watched.values(place)), ahead: (places) => watched.ahead(places) }
}

const focusOf = ({ resource, focus }: EvaluationInput): unknown => (focus === undefined ? resource : focus.value)

const caught =
  (code: string, evaluate: (place: EvaluationInput) => readonly TypedValue[]): CustomEvaluation['values'] =>
  (place, onFailure) => {
    try {
      return evaluate(place)
    } catch (error) {
      onFailure?.(code, error)
      return []
    }
  }

const WATCHED = new WeakMap<CustomMapping, boolean>()

/** Whether a part of the parameter is evaluated under a time limit or in another process. */
export function usesEvaluationBudget(mapping: CustomMapping): boolean {
  const { interpreted, values, components = [] } = mapping
  const known = WATCHED.get(mapping) ?? (interpreted === true || mayTakeLong([values, components.map((each) => each.values)]))
  WATCHED.set(mapping, known)
  return known
}

/** Whether one of these parameters is interpreted. It has no values unless it is evaluated ahead. */
export const hasInterpretedMappings = (custom: readonly CustomMapping[] = []): boolean =>
  custom.some(({ interpreted }) => interpreted === true)

/** Maximum processor time of one evaluation in this thread, in milliseconds. Other work of the thread waits meanwhile. */
const LONGEST_HERE = 90
/** Limits of a piece. `ms`: milliseconds after which no evaluation starts, so that other work can run. `count`: maximum evaluations. */
const PIECE = { ms: 10, count: 64 }

class Watched {
  readonly #evaluate: (place: EvaluationInput) => readonly TypedValue[]
  readonly #known = new WeakMap<object, TimedOutcome<readonly TypedValue[]>>()
  readonly #share: PerExpressionBudget

  constructor(evaluate: (place: EvaluationInput) => readonly TypedValue[], purse: EvaluationBudget) {
    this.#evaluate = evaluate
    this.#share = new PerExpressionBudget(purse)
  }

  values(place: EvaluationInput): readonly TypedValue[] {
    const focus = focusOf(place)
    const known = isElement(focus) ? this.#known.get(focus) : undefined
    const outcome = known ?? this.#outcomes([place])[0]!
    if ('error' in outcome) throw outcome.error
    return outcome.result
  }

  /** Evaluates in pieces and yields to other work between them. */
  async ahead(places: readonly EvaluationInput[]): Promise<void> {
    const elements = places.filter((place) => isElement(focusOf(place)))
    for (let first = 0; first < elements.length; ) {
      const outcomes = this.#outcomes(elements.slice(first, first + PIECE.count))
      for (const [i, outcome] of outcomes.entries()) this.#known.set(focusOf(elements[first + i]!) as object, outcome)
      first += outcomes.length
      if (first < elements.length) await new Promise((resolve) => setImmediate(resolve))
    }
  }

  /** Returns the outcomes of the places that start in this piece, at least the first. If none may start, all are TookTooLong. */
  #outcomes(places: readonly EvaluationInput[]): readonly TimedOutcome<readonly TypedValue[]>[] {
    const budget = this.#share.allowance()
    if (budget === undefined) {
      this.#share.pass(places.length)
      return places.map(() => ({ ms: 0, error: new TookTooLong() }))
    }
    const works = places.map((place) => () => this.#evaluate(place))
    const { each, all } = budget
    const outcomes = runEachWithin({ each: Math.min(each, LONGEST_HERE), all: Math.min(all, PIECE.ms), overruns: 1 }, works)
    return outcomes.slice(0, this.#share.settle(outcomes.map(settledOf)))
  }
}

const settledOf = (outcome: TimedOutcome<unknown>): EvaluationCost => ({
  ms: outcome.ms,
  isTooCostly: 'error' in outcome && outcome.error instanceof TooCostly,
})
