/**
 * Evaluates the expressions of parameters somebody defined. They may take any time or fail on a resource: that costs the resource the
 * values of this parameter, and nothing else anything.
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

/** `code`: of the parameter that failed. */
export type OnFailure = (code: string, error: unknown) => void

export type CustomEvaluation = {
  readonly values: (place: EvaluationInput, onFailure?: OnFailure) => readonly TypedValue[]
  /** Where one by one is dear, or cannot be: evaluates at many places at once. A promise where it is done elsewhere. */
  readonly ahead?: (places: readonly EvaluationInput[], expressions: ExpressionRunner) => Promise<void> | void
}

/** `by`: compiled branches, or an expression that was not compiled, which has values where it was evaluated ahead. */
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

/** Whether a part of the parameter is watched while it is evaluated, or evaluated elsewhere. */
export function usesEvaluationBudget(mapping: CustomMapping): boolean {
  const { interpreted, values, components = [] } = mapping
  const known = WATCHED.get(mapping) ?? (interpreted === true || mayTakeLong([values, components.map((each) => each.values)]))
  WATCHED.set(mapping, known)
  return known
}

/** Whether some of these parameters have no values unless they are evaluated ahead. */
export const hasInterpretedMappings = (custom: readonly CustomMapping[] = []): boolean =>
  custom.some(({ interpreted }) => interpreted === true)

/** ms of processor time for one evaluation where it is watched: whoever needs this thread waits for it. */
const LONGEST_HERE = 90
/** ms after which others pass before the next is begun, and evaluations in one go. */
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

  /** In pieces: others pass between them. */
  async ahead(places: readonly EvaluationInput[]): Promise<void> {
    const elements = places.filter((place) => isElement(focusOf(place)))
    for (let first = 0; first < elements.length; ) {
      const outcomes = this.#outcomes(elements.slice(first, first + PIECE.count))
      for (const [i, outcome] of outcomes.entries()) this.#known.set(focusOf(elements[first + i]!) as object, outcome)
      first += outcomes.length
      if (first < elements.length) await new Promise((resolve) => setImmediate(resolve))
    }
  }

  /** Of the first places, at least of one: as many as are begun in one go, or all where none may be begun. */
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
