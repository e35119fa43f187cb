/** Evaluates compiled FHIRPath: values of a resource, and tests. branch.ts defines the format. */
import type { Element } from '../resource.ts'
import type { Branch, EvaluationScope, Expression } from './branch.ts'
import { NO_VALUE, truthOf } from './compare.ts'
import { evaluatorOf } from './expression.ts'
import { chainSteps } from './walk.ts'

/** Value with its FHIR type. `system`: code system of a `code` with a required binding to codes of one system. */
export type TypedValue = { readonly type: string; readonly value: unknown; readonly system?: string }

/**
 * Returns a function that collects the values at the ends of the branches, branch by branch. `maxItems`: items, including intermediate
 * ones, that it may collect in one call before it throws TooCostly. Absent: no limit.
 */
export function prepareBranches(
  branches: readonly Branch[],
  maxItems?: number,
): (focus: unknown, resource: Element) => readonly TypedValue[] {
  const walks = branches.map(([typed, ...steps]) => {
    const [type, system] = typed.split(' ') as [string, string?]
    const [first] = steps
    return {
      type,
      system,
      first: typeof first === 'string' && !first.endsWith('?') ? first : undefined,
      walk: chainSteps(steps, evaluatorOf),
    }
  })
  const isPlain = branches.every(([, ...steps]) => steps.every((step) => typeof step === 'string'))
  const scopeOf = (resource: Element): EvaluationScope => {
    if (maxItems !== undefined) return { resource, root: resource, work: { left: maxItems } }
    return isPlain ? NOWHERE : { resource, root: resource }
  }
  return (focus, resource) => {
    FOUND.values = NOTHING
    let scope: EvaluationScope | undefined
    // Loop by index: an iterator would cost a tenth of the time of all extraction.
    for (let i = 0; i < walks.length; i++) {
      const { type, system, first, walk } = walks[i]!
      // Skip the walk if its first member is absent: most parameters have no value in most resources.
      if (first !== undefined && (focus as Element)[first] === undefined) continue
      FOUND.type = type
      FOUND.system = system
      scope ??= scopeOf(resource)
      walk(focus, scope, FOUND)
    }
    return FOUND.values
  }
}

const NOTHING: TypedValue[] = []

const NOWHERE: EvaluationScope = { resource: undefined, root: undefined }

/**
 * Collector that gives the values of a walk their type. All calls share one collector, to avoid an allocation for each of many parameters.
 */
class TypedFound {
  type = ''
  system: string | undefined
  values: TypedValue[] = NOTHING

  push(value: unknown): number {
    if (value === NO_VALUE) return 0
    const { type, system } = this
    const typed = system === undefined ? { type, value } : { type, value, system }
    if (this.values === NOTHING) this.values = [typed]
    else this.values.push(typed)
    return 0
  }
}

const FOUND = new TypedFound()

export const valuesOf = (branches: readonly Branch[], resource: Element): readonly TypedValue[] =>
  prepareBranches(branches)(resource, resource)

/** Returns a function that evaluates a test to true or false, or to undefined if the test has no result. */
export function prepareTest(expression: Expression): (focus: unknown, scope: EvaluationScope) => boolean | undefined {
  const evaluate = evaluatorOf(expression)
  return (focus, scope) => truthOf(evaluate(focus, scope))
}
