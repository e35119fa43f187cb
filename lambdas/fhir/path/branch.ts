/** Compiled FHIRPath as data: branches of a static type, each a list of steps. compile.ts creates them; steps.ts evaluates them. */
import type { WorkBudget } from './work-budget.ts'

/**
 * Type of the values, then the steps that lead to them. For a code whose binding allows only one code system, a space and the system follow
 * the type.
 */
export type Branch = readonly [type: string, ...steps: PathStep[]]

/** Returns the branch in a form that skips primitives with only extensions. A search compares values, which those primitives lack. */
export const withoutCompanions = ([type, ...steps]: Branch): Branch => [
  type,
  ...steps.map((step): PathStep => (typeof step === 'string' ? step.replace(/\?$/, '') : step)),
]

export type PathStep =
  /** Name of a JSON member. Each item of a list counts as a result. `status?`: member that is a primitive and may have only extensions. */
  | string
  | readonly ['where', Expression]
  /** Filter for resources of one type. */
  | readonly ['type', string]
  /** Filter for extensions with one URL. */
  | readonly ['url', string]
  | readonly ['value', Expression]
  | readonly ['resource' | 'root' | 'children' | 'descendants']
  | readonly ['first' | 'last' | 'distinct', readonly Branch[]]
  | readonly ['skip' | 'take' | 'item', number, readonly Branch[]]
  | readonly ['intersect' | 'exclude', readonly Branch[], readonly Branch[]]

/** Expression of at most one value. */
export type Expression =
  | string
  | number
  | boolean
  | null
  | readonly [
      'exists' | 'empty' | 'count' | 'one' | 'true' | 'hasValue' | 'isDistinct' | 'allTrue' | 'allFalse' | 'anyTrue',
      readonly Branch[],
    ]
  /** Whether the only item, a Reference, refers to this resource type. Several items or none give undefined. */
  | readonly ['refers', string, readonly Branch[]]
  /** Type test, decided by the first branch with an item: true, false, or whether the item has this resource type. */
  | readonly ['is', readonly (readonly [Branch, boolean | string])[]]
  | readonly ['all', readonly (readonly [Branch, Expression])[]]
  | readonly ['=' | '!=' | '~' | '!~', readonly Branch[], readonly Branch[]]
  | readonly ['in', Expression, readonly Branch[]]
  | readonly ['and' | 'or' | 'implies', Expression, Expression]
  | readonly ['iif', Expression, Expression, Expression]
  | readonly ['operator', string, readonly Expression[]]

/** Resources for %resource and %rootResource. `work`: budget; an evaluation that exceeds it throws TooCostly. Absent: no limit. */
export type EvaluationScope = { readonly resource: unknown; readonly root: unknown; readonly work?: WorkBudget }

/** Returns the items of an expression, evaluated at a focus. */
export type ItemCollector = (focus: unknown, scope: EvaluationScope) => readonly unknown[]

/** Returns the single value of an expression, evaluated at a focus, or undefined. */
export type ExpressionEvaluator = (focus: unknown, scope: EvaluationScope) => unknown
