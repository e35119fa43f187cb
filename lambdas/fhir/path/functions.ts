/** How each FHIRPath function is compiled. http://hl7.org/fhirpath/N1/#functions */
import type { Expression } from './branch.ts'
import {
  branch,
  branchesOf,
  type Compile,
  type Compiled,
  expressionOf,
  type Item,
  isTest,
  itemsOf,
  itself,
  ofType,
  onward,
  pick,
  testOf,
  united,
  value,
} from './compiled.ts'
import { OPERATORS } from './operators.ts'
import type { Ast, Call } from './parse.ts'
import { Unsupported } from './tokens.ts'

/** `self`: what $this and names in plain arguments stand for. */
export function compileCall(call: Call, input: Compiled, self: readonly Item[], compile: Compile): Compiled {
  const known = FUNCTIONS[call.name]
  if (known !== undefined) return known({ input, items: itemsOf(input), call, self, compile })
  if (!OPERATOR_FUNCTIONS.has(call.name)) throw new Unsupported(`${call.name}()`)
  const operands = call.args.map((ast) => expressionOf(compile.argument(ast, self)))
  return value(['operator', call.name, [expressionOf(input), ...operands]], RESULT.get(call.name) ?? 'string')
}

type At = {
  readonly input: Compiled
  readonly items: readonly Item[]
  readonly call: Call
  readonly self: readonly Item[]
  readonly compile: Compile
}

const condense = (name: 'hasValue' | 'isDistinct' | 'allTrue' | 'allFalse' | 'anyTrue') => {
  return ({ input }: At): Compiled => value([name, branchesOf(input)], 'boolean')
}

const picked = (name: 'first' | 'last' | 'distinct') => {
  return ({ items }: At): Compiled => {
    if (items.every((item) => !item.many) && sameStart(items)) return { items }
    return { items: pick(items, (branches) => [name, branches], name === 'distinct') }
  }
}

const sliced = (name: 'skip' | 'take') => {
  return ({ items, call }: At): Compiled => ({ items: pick(items, (branches) => [name, wholeNumber(call.args[0]), branches], true) })
}

const FUNCTIONS: Readonly<Record<string, (at: At) => Compiled>> = Object.freeze(
  Object.assign(Object.create(null) as Record<string, (at: At) => Compiled>, {
    where: (at) => ({ items: at.items.map((item) => onward(item, ['where', criterion(at, item)])) }),
    select: ({ items, call, compile }) => ({
      items: items.flatMap((item) =>
        itemsOf(compile.argument(only(call), itself(item))).map((end) => ({
          ...end,
          steps: [...item.steps, ...end.steps],
          many: item.many || end.many,
        })),
      ),
    }),
    all: (at) => value(['all', at.items.map((item) => [branch(item), criterion(at, item)] as const)], 'boolean'),
    exists: (at) =>
      at.call.args.length === 0
        ? value(['exists', branchesOf(at.input)], 'boolean')
        : value(['exists', matching(at).map(branch)], 'boolean'),
    empty: ({ input }) => value(['empty', branchesOf(input)], 'boolean'),
    not: ({ input }) => value(['operator', 'not', [testOf(input)]], 'boolean'),
    count: ({ input }) =>
      value(['count', 'items' in input && input.united === true ? [['*', ['distinct', branchesOf(input)]]] : branchesOf(input)], 'integer'),
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
    tail: ({ items }) => ({ items: pick(items, (branches) => ['skip', 1, branches], true) }),
    as: ({ items, call, compile }) => ({ items: ofType(items, call.type!, compile) }),
    ofType: ({ items, call, compile }) => ({ items: ofType(items, call.type!, compile) }),
    is: ({ items, call, compile }) => value(isTest(items, call.type!, compile), 'boolean'),
    extension: ({ items, call, compile }) => ({
      items: compile.member('extension', items).map((item) => onward(item, ['url', literalText(only(call))])),
    }),
    children: ({ items }) => ({ items: items.map((item) => onward(item, ['children'], { type: '*', many: true })) }),
    descendants: ({ items }) => ({ items: items.map((item) => onward(item, ['descendants'], { type: '*', many: true })) }),
    union: (at) => united([...at.items, ...itemsOf(argument(at))]),
    combine: (at) => ({ items: [...at.items, ...itemsOf(argument(at))] }),
    intersect: (at) => ({ items: pick(at.items, (branches) => ['intersect', branches, branchesOf(argument(at))], true) }),
    exclude: (at) => ({ items: pick(at.items, (branches) => ['exclude', branches, branchesOf(argument(at))], true) }),
    iif: ({ items, call, compile }) => {
      const [test, yes, no] = call.args.map((ast) => compile.argument(ast, items))
      if (test === undefined || yes === undefined) throw new Unsupported('iif()')
      return value(['iif', testOf(test), expressionOf(yes), no === undefined ? null : expressionOf(no)], 'type' in yes ? yes.type : '*')
    },
    trace: ({ input }) => input,
  } satisfies Record<string, (at: At) => Compiled>),
)

const OPERATOR_FUNCTIONS: ReadonlySet<string> = new Set(Object.keys(OPERATORS).filter((name) => /^[a-z]{4,}/i.test(name) && name !== 'not'))

const RESULT: ReadonlyMap<string, string> = new Map([
  ...['startsWith', 'endsWith', 'contains', 'matches'].map((name) => [name, 'boolean'] as const),
  ...['indexOf', 'length', 'toInteger'].map((name) => [name, 'integer'] as const),
  ['toDecimal', 'decimal'],
])

const criterion = ({ call, compile }: At, item: Item): Expression => testOf(compile.argument(only(call), itself(item)))

const matching = (at: At): readonly Item[] => at.items.map((item) => onward(item, ['where', criterion(at, item)]))

const argument = ({ call, self, compile }: At): Compiled => compile.argument(only(call), self)

/** Alternatives of one choice: never two of them at once. */
function sameStart(items: readonly Item[]): boolean {
  const starts = new Set(items.map((item) => JSON.stringify(item.steps.slice(0, -1))))
  return items.length <= 1 || (starts.size === 1 && items.every((item) => typeof item.steps.at(-1) === 'string'))
}

function only(call: Call): Ast {
  const [ast] = call.args
  if (ast === undefined || call.args.length > 1) throw new Unsupported(`${call.name}() with ${call.args.length} arguments`)
  return ast
}

export function wholeNumber(ast: Ast | undefined): number {
  if (ast?.kind !== 'literal' || ast.type !== 'integer') throw new Unsupported('a number that is not a literal')
  return ast.value as number
}

function literalText(ast: Ast): string {
  if (ast.kind !== 'literal' || ast.type !== 'string') throw new Unsupported('a text that is not a literal')
  return ast.value as string
}
