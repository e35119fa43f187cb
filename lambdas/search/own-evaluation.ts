/**
 * Evaluates the expressions of parameters somebody defined. They may take any time or fail on a resource: that costs the resource the
 * values of this parameter, and nothing else anything.
 */

import type { Branch } from '../fhir/path/branch.ts'
import { type Evaluation, isInterpreterLoaded, loadInterpreter } from '../fhir/path/interpreter.ts'
import { prepare, type TypedValue } from '../fhir/path/steps.ts'
import { eachWithin, type Outcome, TookTooLong } from '../fhir/path/within.ts'
import { MOST_WORK } from '../fhir/path/work.ts'
import { type Element, isElement } from '../fhir/resource.ts'
import type { CustomMapping } from './custom-mapping.ts'

/** `code`: of the parameter that failed. */
export type OnFailure = (code: string, error: unknown) => void

export type OwnEvaluation = {
  readonly values: (focus: unknown, resource: Element, onFailure?: OnFailure) => readonly TypedValue[]
  /** Where one by one is dear: evaluates at many places at once. */
  readonly ahead?: (places: readonly Place[]) => void
}

export type Place = { readonly focus: unknown; readonly resource: Element }

/** ms of processor time. No expression on one resource is worth more. */
const LONGEST = 250
/** After so many that took longer it is not tried again until it is defined anew, or the process is. */
const MOST_OVERRUNS = 4

/** `by`: compiled branches, or how an expression is evaluated that was not compiled. */
export function ownEvaluation(code: string, by: readonly Branch[] | Evaluation): OwnEvaluation {
  const plain = typeof by === 'function' ? by : prepare(by, MOST_WORK)
  const watched = typeof by === 'function' || mayTakeLong(by) ? new Watched(plain) : undefined
  const evaluate: Evaluation = watched === undefined ? plain : (focus, resource) => watched.values(focus, resource)
  const values: OwnEvaluation['values'] = (focus, resource, onFailure) => {
    try {
      return evaluate(focus, resource)
    } catch (error) {
      onFailure?.(code, error)
      return []
    }
  }
  return watched === undefined ? { values } : { values, ahead: (places) => watched.ahead(places) }
}

/** Patterns, and steps whose cost is not bounded by the size of the element they start from. */
const LONG = /"(?:matches|replaceMatches|children|descendants|intersect|exclude|distinct|isDistinct|resource|root)"/

const mayTakeLong = (compiled: object): boolean => LONG.test(JSON.stringify(compiled))

/** Whether a part of the parameter is watched while it is evaluated. */
export const isWatched = ({ interpreted, values, components = [] }: CustomMapping): boolean =>
  interpreted === true || mayTakeLong([values, components.map((each) => each.values)])

class Watched {
  readonly #evaluate: Evaluation
  readonly #known = new WeakMap<object, Outcome<readonly TypedValue[]>>()
  #overruns = 0

  constructor(evaluate: Evaluation) {
    this.#evaluate = evaluate
  }

  values(focus: unknown, resource: Element): readonly TypedValue[] {
    const known = isElement(focus) ? this.#known.get(focus) : undefined
    const outcome = known ?? this.#outcomes([{ focus, resource }])[0]!
    if ('error' in outcome) throw outcome.error
    return outcome.result
  }

  ahead(places: readonly Place[]): void {
    const elements = places.filter(({ focus }) => isElement(focus))
    this.#outcomes(elements).forEach((outcome, i) => {
      this.#known.set(elements[i]!.focus as object, outcome)
    })
  }

  #outcomes(places: readonly Place[]): readonly Outcome<readonly TypedValue[]>[] {
    const works = places.map(
      ({ focus, resource }) =>
        () =>
          this.#evaluate(focus, resource),
    )
    const outcomes = eachWithin(LONGEST, works, MOST_OVERRUNS - this.#overruns)
    for (const each of outcomes) if ('error' in each && each.error instanceof TookTooLong) this.#overruns++
    return outcomes
  }
}

/** Whether these parameters can be evaluated at once. */
export const isPrepared = (custom: readonly CustomMapping[] = []): boolean => isInterpreterLoaded() || !custom.some(isInterpreted)

/** Loads what they need. */
export const prepared = async (custom: readonly CustomMapping[] = []): Promise<void> => {
  if (custom.some(isInterpreted)) await loadInterpreter()
}

const isInterpreted = ({ interpreted }: CustomMapping): boolean => interpreted === true
