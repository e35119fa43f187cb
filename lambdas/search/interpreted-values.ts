/** Values of expressions that are not compiled. `ahead` must evaluate them before they are read. */
import { writeJson } from '../fhir/json.ts'
import type { TypedValue } from '../fhir/path/steps.ts'
import { type Element, isElement } from '../fhir/resource.ts'
import type { Evaluation, EvaluationResult, ExpressionRunner, FoundElement, FoundValue } from '../ports/execution/expression-runner.ts'
import { type EvaluationBudget, type EvaluationCost, PerExpressionBudget } from './evaluation-budget.ts'

/** Input of one evaluation. `key`: object by which its values are cached. `focus`: element to start from. Absent: the resource. */
export type EvaluationInput = { readonly key: object; readonly resource: Element; readonly focus?: { readonly value: unknown } }

export class InterpretedExpression {
  readonly #expression: string
  readonly #type: string
  readonly #results = new WeakMap<object, readonly TypedValue[] | Error>()
  readonly #share: PerExpressionBudget

  constructor(expression: string, type: string, budget: EvaluationBudget) {
    this.#expression = expression
    this.#type = type
    this.#share = new PerExpressionBudget(budget)
  }

  /** Returns the values for the key. Throws the error of its evaluation, or NotEvaluated if `ahead` did not evaluate it. */
  values(key: object): readonly TypedValue[] {
    const result = this.#results.get(key) ?? new Unevaluable('NotEvaluated', '')
    if (result instanceof Error) throw result
    return result
  }

  async ahead(inputs: readonly EvaluationInput[], expressions: ExpressionRunner): Promise<void> {
    const pending = inputs.filter(({ key }) => !this.#results.has(key))
    const done: EvaluationResult[] = []
    for (let limits = this.#share.nextLimits(); done.length < pending.length && limits !== undefined; limits = this.#share.nextLimits()) {
      const evaluations = pending.slice(done.length).map((each) => this.#evaluationOf(each))
      const outcomes = await expressions.evaluate(evaluations, limits)
      done.push(...outcomes.slice(0, this.#share.settle(outcomes.map(settledOf))))
    }
    this.#share.pass(pending.length - done.length)
    for (const [i, input] of pending.entries()) this.#results.set(input.key, resultOf(done[i] ?? NOT_STARTED, input))
  }

  #evaluationOf({ resource, focus }: EvaluationInput): Evaluation {
    const evaluation = { expression: this.#expression, type: this.#type, resource: writeJson(resource) }
    return focus === undefined ? evaluation : { ...evaluation, focus: writeJson(focus.value) }
  }
}

/** Failed evaluation. `name`: name of the error in the process that evaluated. */
class Unevaluable extends Error {
  override readonly name: string

  constructor(name: string, reason: string) {
    super(reason)
    this.name = name
  }
}

const NOT_STARTED: EvaluationResult = { failure: 'too-costly', name: 'TookTooLong', reason: '', ms: 0 }

const settledOf = (outcome: EvaluationResult): EvaluationCost => ({
  ms: outcome.ms + (outcome.lost ?? 0),
  isTooCostly: 'failure' in outcome && outcome.failure === 'too-costly',
})

function resultOf(outcome: EvaluationResult, input: EvaluationInput): readonly TypedValue[] | Error {
  if ('failure' in outcome) return new Unevaluable(outcome.name, outcome.reason)
  return outcome.values.map((found) => typedOf(found, input)).map(valueOfExtension)
}

/**
 * Replaces an extension by its value, because parameters read the value. Returns an extension without a value unchanged: no parameter reads
 * it.
 */
function valueOfExtension(found: TypedValue): TypedValue {
  const { type, value } = found
  if (type !== 'Extension' || !isElement(value)) return found
  const key = Object.keys(value).find((name) => name.startsWith('value'))
  if (key === undefined) return found
  const name = key.slice('value'.length)
  const primitive = name.charAt(0).toLowerCase() + name.slice(1)
  return { type: typeof value[key] === 'object' ? name : primitive, value: value[key] }
}

/** Returns a found value with its type. An element is the object in the given resource or focus, not a copy. */
function typedOf(found: FoundValue, { resource, focus }: EvaluationInput): TypedValue {
  const { type, system } = found
  const value = 'value' in found ? found.value : elementAt(found, found.from === 'focus' && focus !== undefined ? focus.value : resource)
  return system === undefined ? { type, value } : { type, value, system }
}

const elementAt = ({ at }: FoundElement, start: unknown): unknown =>
  at.reduce((element, step) => (element as Readonly<Record<string | number, unknown>>)[step], start)
