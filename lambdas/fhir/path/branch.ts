/** Compiled FHIRPath is data: branches of a static type, each a list of steps. compile.ts makes them; steps.ts evaluates them. */
import type { WorkBudget } from './work-budget.ts'

/** The type of what comes out (with a code's one system after a space), then the way to it. */
export type Branch = readonly [type: string, ...steps: PathStep[]]

/** Without primitives that may have only extensions: a value is searched for only where there is one. */
export const withoutCompanions = ([type, ...steps]: Branch): Branch => [
  type,
  ...steps.map((step): PathStep => (typeof step === 'string' ? step.replace(/\?$/, '') : step)),
]

export type PathStep =
  /** A member; lists are opened. `status?`: a primitive, which may have only extensions. */
  | string
  | readonly ['where', Expression]
  /** Resources of one type. */
  | readonly ['type', string]
  /** Extensions with one url. */
  | readonly ['url', string]
  | readonly ['value', Expression]
  | readonly ['resource' | 'root' | 'children' | 'descendants']
  | readonly ['first' | 'last' | 'distinct', readonly Branch[]]
  | readonly ['skip' | 'take' | 'item', number, readonly Branch[]]
  | readonly ['intersect' | 'exclude', readonly Branch[], readonly Branch[]]

/** An expression of at most one value. */
export type Expression =
  | string
  | number
  | boolean
  | null
  | readonly [
      'exists' | 'empty' | 'count' | 'one' | 'true' | 'hasValue' | 'isDistinct' | 'allTrue' | 'allFalse' | 'anyTrue',
      readonly Branch[],
    ]
  /** The one Reference refers to this type. */
  | readonly ['refers', string, readonly Branch[]]
  /** The first branch that has something decides: true, false, or the type of resource to compare with. */
  | readonly ['is', readonly (readonly [Branch, boolean | string])[]]
  | readonly ['all', readonly (readonly [Branch, Expression])[]]
  | readonly ['=' | '!=' | '~' | '!~', readonly Branch[], readonly Branch[]]
  | readonly ['in', Expression, readonly Branch[]]
  | readonly ['and' | 'or' | 'implies', Expression, Expression]
  | readonly ['iif', Expression, Expression, Expression]
  | readonly ['operator', string, readonly Expression[]]

/** What %resource and %rootResource stand for. `work`: how many items may still be gathered before TooCostly is thrown; no bound without it. */
export type EvaluationScope = { readonly resource: unknown; readonly root: unknown; readonly work?: WorkBudget }

/** The items an expression has at a focus. */
export type ItemCollector = (focus: unknown, scope: EvaluationScope) => readonly unknown[]

/** The one value an expression has at a focus, or undefined. */
export type ExpressionEvaluator = (focus: unknown, scope: EvaluationScope) => unknown
