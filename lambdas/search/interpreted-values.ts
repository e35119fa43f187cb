/** Expressions that are not compiled: their values are there when they were evaluated before they are asked for, by an ExpressionRunner. */
import { writeJson } from '../fhir/json.ts'
import type { TypedValue } from '../fhir/path/steps.ts'
import { type Element, isElement } from '../fhir/resource.ts'
import type { Evaluation, EvaluationResult, ExpressionRunner, FoundElement, FoundValue } from '../ports/execution/expression-runner.ts'
import { type EvaluationBudget, type EvaluationCost, PerExpressionBudget } from './evaluation-budget.ts'

/** `by`: what its values are remembered by. Without a focus it is the resource. */
export type EvaluationInput = { readonly by: object; readonly resource: Element; readonly focus?: { readonly value: unknown } }

export class InterpretedExpression {
  readonly #expression: string
  readonly #type: string
  readonly #known = new WeakMap<object, readonly TypedValue[] | Error>()
  readonly #share: PerExpressionBudget

  constructor(expression: string, type: string, purse: EvaluationBudget) {
    this.#expression = expression
    this.#type = type
    this.#share = new PerExpressionBudget(purse)
  }

  /** Throws what the evaluation failed with. */
  values(by: object): readonly TypedValue[] {
    const known = this.#known.get(by) ?? new Unevaluable('NotEvaluated', '')
    if (known instanceof Error) throw known
    return known
  }

  async ahead(places: readonly EvaluationInput[], expressions: ExpressionRunner): Promise<void> {
    const unknown = places.filter(({ by }) => !this.#known.has(by))
    const done: EvaluationResult[] = []
    for (let budget = this.#share.allowance(); done.length < unknown.length && budget !== undefined; budget = this.#share.allowance()) {
      const asked = unknown.slice(done.length).map((each) => this.#asked(each))
      const outcomes = await expressions.evaluate(asked, budget)
      done.push(...outcomes.slice(0, this.#share.settle(outcomes.map(settledOf))))
    }
    this.#share.pass(unknown.length - done.length)
    for (const [i, place] of unknown.entries()) this.#known.set(place.by, knownOf(done[i] ?? NOT_BEGUN, place))
  }

  #asked({ resource, focus }: EvaluationInput): Evaluation {
    const evaluation = { expression: this.#expression, type: this.#type, resource: writeJson(resource) }
    return focus === undefined ? evaluation : { ...evaluation, focus: writeJson(focus.value) }
  }
}

/** Named as what it failed with where it was evaluated. */
class Unevaluable extends Error {
  override readonly name: string

  constructor(name: string, reason: string) {
    super(reason)
    this.name = name
  }
}

const NOT_BEGUN: EvaluationResult = { failure: 'too-costly', name: 'TookTooLong', reason: '', ms: 0 }

const settledOf = (outcome: EvaluationResult): EvaluationCost => ({
  ms: outcome.ms + (outcome.lost ?? 0),
  isTooCostly: 'failure' in outcome && outcome.failure === 'too-costly',
})

function knownOf(outcome: EvaluationResult, place: EvaluationInput): readonly TypedValue[] | Error {
  if ('failure' in outcome) return new Unevaluable(outcome.name, outcome.reason)
  return outcome.values.map((found) => typedOf(found, place)).map(valueOfExtension)
}

/** An extension that an expression ends at stands for its value. One without a value has none that a parameter looks at. */
function valueOfExtension(found: TypedValue): TypedValue {
  const { type, value } = found
  if (type !== 'Extension' || !isElement(value)) return found
  const key = Object.keys(value).find((name) => name.startsWith('value'))
  if (key === undefined) return found
  const name = key.slice('value'.length)
  const primitive = name.charAt(0).toLowerCase() + name.slice(1)
  return { type: typeof value[key] === 'object' ? name : primitive, value: value[key] }
}

/** Elements as they are in the resource. */
function typedOf(found: FoundValue, { resource, focus }: EvaluationInput): TypedValue {
  const { type, system } = found
  const value = 'value' in found ? found.value : elementAt(found, found.from === 'focus' && focus !== undefined ? focus.value : resource)
  return system === undefined ? { type, value } : { type, value, system }
}

const elementAt = ({ at }: FoundElement, start: unknown): unknown =>
  at.reduce((element, step) => (element as Readonly<Record<string | number, unknown>>)[step], start)
