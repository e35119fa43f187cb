/** Intermediate form of an expression in the compiler: items of known types, or one value. */
import type { Branch, Expression, PathStep } from './branch.ts'
import type { Ast } from './parse.ts'
import { UnsupportedExpression } from './tokens.ts'

export type CompiledItem = {
  readonly type: string
  /** Code system of a code, if its binding allows only one. */
  readonly system?: string
  readonly steps: readonly PathStep[]
  /** Whether there can be more than one item. */
  readonly many: boolean
}

/**
 * Compiled expression. `united`: whether `|` joined the items, so that count() must ignore duplicates. Other functions do not remove them.
 */
export type CompiledExpression =
  | { readonly items: readonly CompiledItem[]; readonly united?: boolean }
  | { readonly value: Expression; readonly type: string }

/** Functions of the compiler for the compilation of functions and types. */
export type CompilerContext = {
  /** Compiles an argument. `focus`: items from which names and $this start. */
  readonly argument: (ast: Ast, focus: readonly CompiledItem[]) => CompiledExpression
  readonly member: (name: string, items: readonly CompiledItem[]) => readonly CompiledItem[]
  readonly isType: (type: string, expected: string) => boolean
  readonly isResource: (type: string) => boolean
}

/** Type of items with an unknown type. */
export const ANY_TYPE = '*'

export const isPrimitive = (type: string): boolean => type >= 'a' && type < '{'

export const compiledValue = (expression: Expression, type: string): CompiledExpression => ({ value: expression, type })

export const branchOf = ({ type, system, steps }: CompiledItem): Branch => [system === undefined ? type : `${type} ${system}`, ...steps]

export const itemsOf = (compiled: CompiledExpression): readonly CompiledItem[] =>
  'items' in compiled ? compiled.items : [{ type: compiled.type, steps: [['value', compiled.value]], many: false }]

/** Returns the union of the items, each path once. */
export const unionOf = (items: readonly CompiledItem[]): CompiledExpression => ({
  items: [...new Map(items.map((item) => [JSON.stringify(item), item])).values()],
  united: true,
})

export const branchesOf = (compiled: CompiledExpression): readonly Branch[] => itemsOf(compiled).map(branchOf)

export const expressionOf = (compiled: CompiledExpression): Expression =>
  'items' in compiled ? ['one', branchesOf(compiled)] : compiled.value

export const testOf = (compiled: CompiledExpression): Expression => ('items' in compiled ? ['true', branchesOf(compiled)] : compiled.value)

/** Returns the item as the focus of a criterion, such as that of where(). The criterion is evaluated for each item. */
export const focusItemOf = (item: CompiledItem): readonly CompiledItem[] => [{ ...item, steps: [], many: false }]

export const appendStep = (item: CompiledItem, step: PathStep, change: Partial<CompiledItem> = {}): CompiledItem => ({
  ...item,
  steps: [...item.steps, step],
  ...change,
})

/**
 * Returns one item for first(), [0] and similar: a single step over all branches. Throws UnsupportedExpression if the items have different
 * types.
 */
export function pickItems(
  items: readonly CompiledItem[],
  step: (branches: readonly Branch[]) => PathStep,
  many: boolean,
): readonly CompiledItem[] {
  const [first] = items
  if (first === undefined) return []
  if (items.some((item) => item.type !== first.type)) throw new UnsupportedExpression('a choice between items of different types')
  const { system: _, ...plain } = first
  return [{ ...(items.every((item) => item.system === first.system) ? first : plain), steps: [step(items.map(branchOf))], many }]
}

export function filterByType(
  items: readonly CompiledItem[],
  expected: string,
  { isType, isResource }: CompilerContext,
): readonly CompiledItem[] {
  return items.flatMap((item) => {
    if (item.type === 'Resource' || item.type === ANY_TYPE) {
      if (expected === 'Resource' || expected === 'DomainResource') return [item]
      return isResource(expected) ? [appendStep(item, ['type', expected], { type: expected })] : []
    }
    return isType(item.type, expected) || (isResource(item.type) && (expected === 'Resource' || expected === 'DomainResource'))
      ? [item]
      : []
  })
}

export function compileTypeTest(items: readonly CompiledItem[], expected: string, { isType, isResource }: CompilerContext): Expression {
  const verdict = ({ type }: CompiledItem): boolean | string => {
    if (type === 'Resource' || type === ANY_TYPE) return expected === 'Resource' ? true : expected
    return isType(type, expected) || (isResource(type) && (expected === 'Resource' || expected === 'DomainResource'))
  }
  return ['is', items.map((item) => [branchOf(item), verdict(item)] as const)]
}
