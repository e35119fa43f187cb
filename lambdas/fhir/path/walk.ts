/** Walks along the steps of branches. */
import type { Element } from '../resource.ts'
import type { Branch, EvaluationScope, Expression, ExpressionEvaluator, ItemCollector, PathStep } from './branch.ts'
import { distinctValuesOf, identityKeyOf, NO_VALUE, truthOf } from './compare.ts'
import { spendWork } from './work-budget.ts'

/**
 * Walks from a focus along the remaining steps. Returns true if it stopped early: at the limit of `found`, or at the first item if there is
 * no `found`.
 */
export type Walk = (focus: unknown, scope: EvaluationScope, found: Collected | undefined) => boolean

/** Collector of items. `push`: returns the number of items. The walk stops when it equals `limit`. */
type Collected = { readonly push: (item: unknown) => number; readonly limit?: number }

/** Creates the evaluators of expressions inside steps. */
export type EvaluatorFactory = (expression: Expression) => ExpressionEvaluator

const END: Walk = (focus, { work }, found) => {
  if (found === undefined) return true
  spendWork(work, 1)
  return found.push(focus) === found.limit
}

export function chainSteps(steps: readonly PathStep[], evaluator: EvaluatorFactory): Walk {
  let walk = END
  for (let i = steps.length - 1; i >= 0; i--) walk = link(steps[i]!, walk, evaluator)
  return walk
}

function link(step: PathStep, next: Walk, evaluator: EvaluatorFactory): Walk {
  if (typeof step === 'string') return step.endsWith('?') ? primitive(step.slice(0, -1), next) : member(step, next)
  switch (step[0]) {
    case 'where': {
      const test = evaluator(step[1])
      return (focus, scope, found) => truthOf(test(focus, scope)) === true && next(focus, scope, found)
    }
    case 'type':
      return (focus, scope, found) => (focus as Element).resourceType === step[1] && next(focus, scope, found)
    case 'url':
      return (focus, scope, found) => (focus as Element).url === step[1] && next(focus, scope, found)
    case 'value': {
      const evaluate = evaluator(step[1])
      return (focus, scope, found) => {
        const value = evaluate(focus, scope)
        return value !== undefined && next(value, scope, found)
      }
    }
    case 'resource':
    case 'root': {
      const which = step[0]
      return (_focus, scope, found) => next(scope[which], scope, found)
    }
    default: {
      const collect = collector(step, evaluator)
      return (focus, scope, found) => {
        for (const item of collect(focus, scope)) if (next(item, scope, found)) return true
        return false
      }
    }
  }
}

function member(key: string, next: Walk): Walk {
  return (focus, scope, found) => {
    if (typeof focus !== 'object') return false
    const value = (focus as Element)[key]
    return value !== undefined && value !== null && open(value, next, scope, found)
  }
}

function primitive(key: string, next: Walk): Walk {
  const companion = `_${key}`
  return (focus, scope, found) => {
    if (typeof focus !== 'object') return false
    const value = (focus as Element)[key]
    if (value !== undefined && value !== null) return open(value, next, scope, found)
    return (focus as Element)[companion] !== undefined && next(NO_VALUE, scope, found)
  }
}

/** Work units for an item of a list that a walk passes. An item that is collected costs 1. */
const PASSED = 1 / 8

function open(value: unknown, next: Walk, scope: EvaluationScope, found: Collected | undefined): boolean {
  if (!Array.isArray(value)) return next(value, scope, found)
  spendWork(scope.work, PASSED * value.length)
  for (const item of value) if (item !== null && next(item, scope, found)) return true
  return false
}

/** Returns a function that collects the items at the ends of the branches. `limit`: number of items at which it stops. Absent: no limit. */
export function itemCollectorOf(branches: readonly Branch[], evaluator: EvaluatorFactory, limit?: number): ItemCollector {
  const only = branches.length === 1 ? branches[0]!.slice(1) : undefined
  if (only?.length === 0) return (focus) => [focus]
  const constant = only?.length === 1 ? literalOf(only[0]!) : undefined
  if (constant !== undefined) return () => constant
  const walks = branches.map(([, ...steps]) => chainSteps(steps, evaluator))
  return (focus, scope) => {
    const found: unknown[] & { limit?: number } = []
    if (limit !== undefined) found.limit = limit
    for (const walk of walks) if (walk(focus, scope, found)) break
    return found
  }
}

function literalOf(step: PathStep): readonly unknown[] | undefined {
  return typeof step !== 'string' && step[0] === 'value' && step[1] !== null && typeof step[1] !== 'object' ? [step[1]] : undefined
}

/** Returns a function that tests whether the branches have an item. */
export function existenceTestOf(
  branches: readonly Branch[],
  evaluator: EvaluatorFactory,
): (focus: unknown, scope: EvaluationScope) => boolean {
  const walks = branches.map(([, ...steps]) => chainSteps(steps, evaluator))
  return (focus, scope) => {
    for (const walk of walks) if (walk(focus, scope, undefined)) return true
    return false
  }
}

/** Work units for the identity key of an item. An item that is collected costs 1. */
const IDENTITY = 20

type Collecting = Extract<PathStep, readonly [string, ...unknown[]]>

function collector(step: Collecting, evaluator: EvaluatorFactory): ItemCollector {
  switch (step[0]) {
    case 'descendants':
      return (focus, scope) => descendantsOf(focus, [], scope)
    case 'skip':
    case 'take':
    case 'item': {
      const [name, count, branches] = step
      const collect = itemCollectorOf(branches, evaluator, name === 'skip' ? undefined : name === 'take' ? count : count + 1)
      const [start, end] = name === 'skip' ? [count, undefined] : name === 'take' ? [0, count] : [count, count + 1]
      return (focus, scope) => collect(focus, scope).slice(start, end)
    }
    case 'intersect':
    case 'exclude': {
      const [left, right] = [itemCollectorOf(step[1], evaluator), itemCollectorOf(step[2], evaluator)]
      const expected = step[0] === 'intersect'
      return (focus, scope) => {
        const items = right(focus, scope)
        spendWork(scope.work, items.length * IDENTITY)
        const others = new Set(items.map(identityKeyOf))
        const found = left(focus, scope).filter((item) => others.has(identityKeyOf(item)) === expected)
        return expected ? distinctValuesOf(found) : found
      }
    }
    case 'first':
      return itemCollectorOf(step[1], evaluator, 1)
    case 'last': {
      const collect = itemCollectorOf(step[1], evaluator)
      return (focus, scope) => collect(focus, scope).slice(-1)
    }
    case 'distinct': {
      const collect = itemCollectorOf(step[1], evaluator)
      return (focus, scope) => distinctValuesOf(collect(focus, scope))
    }
    default:
      return childrenOf
  }
}

function childrenOf(focus: unknown, { work }: EvaluationScope): readonly unknown[] {
  const children: unknown[] = []
  if (typeof focus !== 'object' || focus === null) return children
  for (const value of Object.values(focus)) {
    if (!Array.isArray(value)) children.push(value)
    else for (const item of value) children.push(item)
  }
  spendWork(work, children.length)
  return children.includes(null) ? children.filter((child) => child !== null) : children
}

function descendantsOf(focus: unknown, found: unknown[], scope: EvaluationScope): readonly unknown[] {
  for (const child of childrenOf(focus, scope)) {
    found.push(child)
    if (typeof child === 'object') descendantsOf(child, found, scope)
  }
  return found
}
