/** Compilation of each FHIRPath function. http://hl7.org/fhirpath/N1/#functions */
import type { Expression } from './branch.ts'
import {
  appendStep,
  branchesOf,
  branchOf,
  type CompiledExpression,
  type CompiledItem,
  type CompilerContext,
  compiledValue,
  compileTypeTest,
  expressionOf,
  filterByType,
  focusItemOf,
  itemsOf,
  pickItems,
  testOf,
  unionOf,
} from './compiled-expression.ts'
import { OPERATORS } from './operators.ts'
import type { Ast, CallNode } from './parse.ts'
import { UnsupportedExpression } from './tokens.ts'

/**
 * Compiles a function call. `self`: items for $this and for names in arguments other than criteria. Throws UnsupportedExpression for an
 * unknown function.
 */
export function compileCall(
  call: CallNode,
  input: CompiledExpression,
  self: readonly CompiledItem[],
  compile: CompilerContext,
): CompiledExpression {
  const definition = FUNCTIONS[call.name]
  if (definition !== undefined) return definition({ input, items: itemsOf(input), call, self, compile })
  if (!OPERATOR_FUNCTIONS.has(call.name)) throw new UnsupportedExpression(`${call.name}()`)
  const operands = call.args.map((ast) => expressionOf(compile.argument(ast, self)))
  return compiledValue(['operator', call.name, [expressionOf(input), ...operands]], RESULT.get(call.name) ?? 'string')
}

type At = {
  readonly input: CompiledExpression
  readonly items: readonly CompiledItem[]
  readonly call: CallNode
  readonly self: readonly CompiledItem[]
  readonly compile: CompilerContext
}

const condense = (name: 'hasValue' | 'isDistinct' | 'allTrue' | 'allFalse' | 'anyTrue') => {
  return ({ input }: At): CompiledExpression => compiledValue([name, branchesOf(input)], 'boolean')
}

const picked = (name: 'first' | 'last' | 'distinct') => {
  return ({ items }: At): CompiledExpression => {
    if (items.every((item) => !item.many) && sameStart(items)) return { items }
    return { items: pickItems(items, (branches) => [name, branches], name === 'distinct') }
  }
}

const sliced = (name: 'skip' | 'take') => {
  return ({ items, call }: At): CompiledExpression => ({
    items: pickItems(items, (branches) => [name, integerLiteralOf(call.args[0]), branches], true),
  })
}

const FUNCTIONS: Readonly<Record<string, (at: At) => CompiledExpression>> = Object.freeze(
  Object.assign(Object.create(null) as Record<string, (at: At) => CompiledExpression>, {
    where: (at) => ({ items: at.items.map((item) => appendStep(item, ['where', criterion(at, item)])) }),
    select: ({ items, call, compile }) => ({
      items: items.flatMap((item) =>
        itemsOf(compile.argument(only(call), focusItemOf(item))).map((end) => ({
          ...end,
          steps: [...item.steps, ...end.steps],
          many: item.many || end.many,
        })),
      ),
    }),
    all: (at) => compiledValue(['all', at.items.map((item) => [branchOf(item), criterion(at, item)] as const)], 'boolean'),
    exists: (at) =>
      at.call.args.length === 0
        ? compiledValue(['exists', branchesOf(at.input)], 'boolean')
        : compiledValue(['exists', matching(at).map(branchOf)], 'boolean'),
    empty: ({ input }) => compiledValue(['empty', branchesOf(input)], 'boolean'),
    not: ({ input }) => compiledValue(['operator', 'not', [testOf(input)]], 'boolean'),
    count: ({ input }) =>
      compiledValue(
        ['count', 'items' in input && input.united === true ? [['*', ['distinct', branchesOf(input)]]] : branchesOf(input)],
        'integer',
      ),
    hasValue: condense('hasValue'),
    isDistinct: condense('isDistinct'),
    allTrue: condense('allTrue'),
    allFalse: condense('allFalse'),
    anyTrue: condense('anyTrue'),
    first: picked('first'),
    last: picked('last'),
    distinct: picked('distinct'),
    single: picked('first'),
    skip: sliced('skip'),
    take: sliced('take'),
    tail: ({ items }) => ({ items: pickItems(items, (branches) => ['skip', 1, branches], true) }),
    as: ({ items, call, compile }) => ({ items: filterByType(items, call.type!, compile) }),
    ofType: ({ items, call, compile }) => ({ items: filterByType(items, call.type!, compile) }),
    is: ({ items, call, compile }) => compiledValue(compileTypeTest(items, call.type!, compile), 'boolean'),
    extension: ({ items, call, compile }) => ({
      items: compile.member('extension', items).map((item) => appendStep(item, ['url', literalText(only(call))])),
    }),
    children: ({ items }) => ({ items: items.map((item) => appendStep(item, ['children'], { type: '*', many: true })) }),
    descendants: ({ items }) => ({ items: items.map((item) => appendStep(item, ['descendants'], { type: '*', many: true })) }),
    union: (at) => unionOf([...at.items, ...itemsOf(argument(at))]),
    combine: (at) => ({ items: [...at.items, ...itemsOf(argument(at))] }),
    intersect: (at) => ({ items: pickItems(at.items, (branches) => ['intersect', branches, branchesOf(argument(at))], true) }),
    exclude: (at) => ({ items: pickItems(at.items, (branches) => ['exclude', branches, branchesOf(argument(at))], true) }),
    iif: ({ items, call, compile }) => {
      const [test, yes, no] = call.args.map((ast) => compile.argument(ast, items))
      if (test === undefined || yes === undefined) throw new UnsupportedExpression('iif()')
      return compiledValue(
        ['iif', testOf(test), expressionOf(yes), no === undefined ? null : expressionOf(no)],
        'type' in yes ? yes.type : '*',
      )
    },
    trace: ({ input }) => input,
  } satisfies Record<string, (at: At) => CompiledExpression>),
)

const OPERATOR_FUNCTIONS: ReadonlySet<string> = new Set(Object.keys(OPERATORS).filter((name) => /^[a-z]{4,}/i.test(name) && name !== 'not'))

const RESULT: ReadonlyMap<string, string> = new Map([
  ...['startsWith', 'endsWith', 'contains', 'matches'].map((name) => [name, 'boolean'] as const),
  ...['indexOf', 'length', 'toInteger'].map((name) => [name, 'integer'] as const),
  ['toDecimal', 'decimal'],
])

const criterion = ({ call, compile }: At, item: CompiledItem): Expression => testOf(compile.argument(only(call), focusItemOf(item)))

const matching = (at: At): readonly CompiledItem[] => at.items.map((item) => appendStep(item, ['where', criterion(at, item)]))

const argument = ({ call, self, compile }: At): CompiledExpression => compile.argument(only(call), self)

/** Whether the items differ only in their last member, as the forms of a choice do. An element has at most one form of a choice. */
function sameStart(items: readonly CompiledItem[]): boolean {
  const starts = new Set(items.map((item) => JSON.stringify(item.steps.slice(0, -1))))
  return items.length <= 1 || (starts.size === 1 && items.every((item) => typeof item.steps.at(-1) === 'string'))
}

function only(call: CallNode): Ast {
  const [ast] = call.args
  if (ast === undefined || call.args.length > 1) throw new UnsupportedExpression(`${call.name}() with ${call.args.length} arguments`)
  return ast
}

export function integerLiteralOf(ast: Ast | undefined): number {
  if (ast?.kind !== 'literal' || ast.type !== 'integer') throw new UnsupportedExpression('a number that is not a literal')
  return ast.value as number
}

function literalText(ast: Ast): string {
  if (ast.kind !== 'literal' || ast.type !== 'string') throw new UnsupportedExpression('a text that is not a literal')
  return ast.value as string
}
