/** Expressions that are not compiled: their values are there when they were evaluated before they are asked for, by an ExpressionRunner. */
import { writeJson } from '../fhir/json.ts'
import type { TypedValue } from '../fhir/path/steps.ts'
import type { Element } from '../fhir/resource.ts'
import type { Evaluated, Evaluation, ExpressionRunner, FoundElement, FoundValue } from '../ports/expression-runner.ts'

/** `by`: what its values are remembered by. Without a focus it is the resource. */
export type Place = { readonly by: object; readonly resource: Element; readonly focus?: { readonly value: unknown } }

/** ms of processor time. No expression on one resource is worth more. */
export const LONGEST = 250
/** ms that an evaluation may take without a thought. */
const CHEAP = 5
/** ms above that: after so many more than others took less it is not tried again until it is defined anew, or the process is. */
const MOST_DEBT = 4 * LONGEST

export class Interpreted {
  readonly #expression: string
  readonly #type: string
  readonly #known = new WeakMap<object, readonly TypedValue[] | Error>()
  #debt = 0

  constructor(expression: string, type: string) {
    this.#expression = expression
    this.#type = type
  }

  /** Throws what the evaluation failed with. */
  values(by: object): readonly TypedValue[] {
    const known = this.#known.get(by) ?? new Unevaluable('NotEvaluated', '')
    if (known instanceof Error) throw known
    return known
  }

  async ahead(places: readonly Place[], expressions: ExpressionRunner): Promise<void> {
    const unknown = places.filter(({ by }) => !this.#known.has(by))
    const budget = { each: LONGEST, all: MOST_DEBT - this.#debt + CHEAP * unknown.length }
    const isGivenUp = this.#debt >= MOST_DEBT
    const outcomes = isGivenUp
      ? unknown.map(() => GIVEN_UP)
      : await expressions.evaluate(
          unknown.map((each) => this.#asked(each)),
          budget,
        )
    outcomes.forEach((outcome, i) => {
      this.#debt = Math.max(0, this.#debt + outcome.ms - (isGivenUp ? 0 : CHEAP))
      this.#known.set(unknown[i]!.by, knownOf(outcome, unknown[i]!))
    })
  }

  #asked({ resource, focus }: Place): Evaluation {
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

const GIVEN_UP: Evaluated = { failure: 'too-costly', name: 'TookTooLong', reason: '', ms: 0 }

function knownOf(outcome: Evaluated, place: Place): readonly TypedValue[] | Error {
  if ('failure' in outcome) return new Unevaluable(outcome.name, outcome.reason)
  return outcome.values.map((found) => typedOf(found, place))
}

/** Elements as they are in the resource. */
function typedOf(found: FoundValue, { resource, focus }: Place): TypedValue {
  const { type, system } = found
  const value = 'value' in found ? found.value : elementAt(found, found.from === 'focus' && focus !== undefined ? focus.value : resource)
  return system === undefined ? { type, value } : { type, value, system }
}

const elementAt = ({ at }: FoundElement, start: unknown): unknown =>
  at.reduce((element, step) => (element as Readonly<Record<string | number, unknown>>)[step], start)
