/** The compiler's view of an expression: items of known types, or one value. */
import type { Branch, Expression, PathStep } from './branch.ts'
import type { Ast } from './parse.ts'
import { Unsupported } from './tokens.ts'

export type Item = {
  readonly type: string
  /** The code system of a code whose binding takes only one. */
  readonly system?: string
  readonly steps: readonly PathStep[]
  /** Whether there can be more than one. */
  readonly many: boolean
}

/** `united`: by `|`, which takes duplicates out; those that several ways lead to matter only where items are counted. */
export type Compiled =
  | { readonly items: readonly Item[]; readonly united?: boolean }
  | { readonly value: Expression; readonly type: string }

/** What the functions need of the compiler. */
export type Compile = {
  /** Compiles an argument: `focus` is what names start from and $this. */
  readonly argument: (ast: Ast, focus: readonly Item[]) => Compiled
  readonly member: (name: string, of: readonly Item[]) => readonly Item[]
  readonly isType: (type: string, wanted: string) => boolean
  readonly isResource: (type: string) => boolean
}

/** A type nothing is known about. */
export const ANY = '*'

export const isPrimitive = (type: string): boolean => type >= 'a' && type < '{'

export const value = (expression: Expression, type: string): Compiled => ({ value: expression, type })

export const branch = ({ type, system, steps }: Item): Branch => [system === undefined ? type : `${type} ${system}`, ...steps]

export const itemsOf = (compiled: Compiled): readonly Item[] =>
  'items' in compiled ? compiled.items : [{ type: compiled.type, steps: [['value', compiled.value]], many: false }]

/** Each way once. */
export const united = (items: readonly Item[]): Compiled => ({
  items: [...new Map(items.map((item) => [JSON.stringify(item), item])).values()],
  united: true,
})

export const branchesOf = (compiled: Compiled): readonly Branch[] => itemsOf(compiled).map(branch)

export const expressionOf = (compiled: Compiled): Expression => ('items' in compiled ? ['one', branchesOf(compiled)] : compiled.value)

export const testOf = (compiled: Compiled): Expression => ('items' in compiled ? ['true', branchesOf(compiled)] : compiled.value)

/** Each item by itself, as the focus of a criterion. */
export const itself = (item: Item): readonly Item[] => [{ ...item, steps: [], many: false }]

export const onward = (item: Item, step: PathStep, change: Partial<Item> = {}): Item => ({
  ...item,
  steps: [...item.steps, step],
  ...change,
})

/** first(), [0] and the like: one step over all branches, which keeps the type. */
export function pick(items: readonly Item[], step: (branches: readonly Branch[]) => PathStep, many: boolean): readonly Item[] {
  const [first] = items
  if (first === undefined) return []
  if (items.some((item) => item.type !== first.type)) throw new Unsupported('a choice between items of different types')
  const { system: _, ...plain } = first
  return [{ ...(items.every((item) => item.system === first.system) ? first : plain), steps: [step(items.map(branch))], many }]
}

export function ofType(items: readonly Item[], wanted: string, { isType, isResource }: Compile): readonly Item[] {
  return items.flatMap((item) => {
    if (item.type === 'Resource' || item.type === ANY) {
      if (wanted === 'Resource' || wanted === 'DomainResource') return [item]
      return isResource(wanted) ? [onward(item, ['type', wanted], { type: wanted })] : []
    }
    return isType(item.type, wanted) || (isResource(item.type) && (wanted === 'Resource' || wanted === 'DomainResource')) ? [item] : []
  })
}

export function isTest(items: readonly Item[], wanted: string, { isType, isResource }: Compile): Expression {
  const verdict = ({ type }: Item): boolean | string => {
    if (type === 'Resource' || type === ANY) return wanted === 'Resource' ? true : wanted
    return isType(type, wanted) || (isResource(type) && (wanted === 'Resource' || wanted === 'DomainResource'))
  }
  return ['is', items.map((item) => [branch(item), verdict(item)] as const)]
}
