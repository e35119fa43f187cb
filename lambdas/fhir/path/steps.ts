/** Evaluates compiled FHIRPath: the values of a resource, and tests. The format is in branch.ts. */
import type { Element } from '../resource.ts'
import type { Branch, Expression, Scope } from './branch.ts'
import { NO_VALUE, truth } from './compare.ts'
import { evaluator } from './expression.ts'
import { chain } from './walk.ts'

/** A value with its FHIR type; `system`: the code system of a `code` whose required binding takes codes of one system only. */
export type TypedValue = { readonly type: string; readonly value: unknown; readonly system?: string }

/** The values at the ends of the branches, in order. */
export function prepare(branches: readonly Branch[]): (focus: unknown, resource: Element) => readonly TypedValue[] {
  const walks = branches.map(([typed, ...steps]) => {
    const [type, system] = typed.split(' ') as [string, string?]
    const [first] = steps
    return { type, system, first: typeof first === 'string' && !first.endsWith('?') ? first : undefined, walk: chain(steps, evaluator) }
  })
  const isPlain = branches.every(([, ...steps]) => steps.every((step) => typeof step === 'string'))
  return (focus, resource) => {
    let typed: TypedValue[] = NOTHING
    const scope = isPlain ? NOWHERE : { resource, root: resource }
    for (const { type, system, first, walk } of walks) {
      // Most parameters have no value in most resources: not even a step is walked then.
      if (first !== undefined && (focus as Element)[first] === undefined) continue
      walk(focus, scope, values)
      if (values.length === 0) continue
      if (typed === NOTHING) typed = []
      for (const value of values) if (value !== NO_VALUE) typed.push(system === undefined ? { type, value } : { type, value, system })
      values.length = 0
    }
    return typed
  }
}

const NOTHING: TypedValue[] = []

const NOWHERE: Scope = { resource: undefined, root: undefined }

/** Empty between calls: a list less to allocate for each of many parameters. */
const values: unknown[] = []

export const valuesOf = (branches: readonly Branch[], resource: Element): readonly TypedValue[] => prepare(branches)(resource, resource)

/** True, false, or undefined where the expression is empty. */
export function prepareTest(expression: Expression): (focus: unknown, scope: Scope) => boolean | undefined {
  const evaluate = evaluator(expression)
  return (focus, scope) => truth(evaluate(focus, scope))
}
