/** Small changes that tests must notice. Each operator proposes splices of the text of a node. */
import { type Node, nodesIn } from './syntax.ts'

/** The text from `start` to `end` becomes `text`. */
export type Splice = { readonly start: number; readonly end: number; readonly text: string }
type Operator = (node: Node, source: string, parents: readonly Node[]) => readonly Splice[]

const SHIFTED: Readonly<Record<string, string>> = { '<': '<=', '<=': '<', '>': '>=', '>=': '>' }
const NEGATED: Readonly<Record<string, string>> = { '===': '!==', '!==': '===', '==': '!=', '!=': '==' }
const SWAPPED: Readonly<Record<string, string>> = { '&&': '||', '||': '&&' }
const WITH_TEST = new Set(['IfStatement', 'ConditionalExpression', 'WhileStatement', 'DoWhileStatement', 'ForStatement'])
const FUNCTIONS = new Set(['ArrowFunctionExpression', 'FunctionExpression', 'FunctionDeclaration'])
const EXITS = new Set(['ThrowStatement', 'ReturnStatement', 'ContinueStatement', 'BreakStatement'])
const INPUTS = new Set(['Identifier', 'MemberExpression', 'CallExpression', 'ArrayExpression'])
const TERMS = new Set(['&&', '||', '??', '+', '-'])
/** Methods whose argument returns a condition. */
const PREDICATES = new Set('every filter find findIndex findLast findLastIndex some'.split(' '))
/** Methods that return a changed copy of their receiver. */
const PURE = new Set(
  `catch concat difference filter flat flatMap intersection map normalize replace replaceAll slice sort split subarray
  toLowerCase toReversed toSorted toUpperCase trim union`.split(/\s+/),
)
const BOOLEAN_NAME = /^(?:can|has|is|may|must|was)[A-Z]/
const BOOLEAN_TYPE = /^:\s*(?:boolean|Promise<boolean>|\w+ is )/
/** A clause of a condition of SQL or of DynamoDB. */
const CLAUSE = / AND (?:[^()`'"$\n]|\([^()`\n]*\)|\$\{[^{}]*\})+?(?= AND | OR | ORDER | LIMIT | GROUP | RETURNING |[)`'"\n])/g

export const OPERATORS: Readonly<Record<string, Operator>> = {
  'remove statement': (node, _, parents) => {
    // Below an `if`, the whole guard goes.
    if (node.type === 'ThrowStatement') return parents.at(-1)?.type === 'IfStatement' ? [] : [replaced(node, ';')]
    const isCall = node.type === 'ExpressionStatement' && !node.directive && !isSuper(node)
    return isCall || isGuard(node) ? [replaced(node, ';')] : []
  },
  'negate condition': (node, source, parents) => [
    ...conditionsOf(node, source, parents).map((condition) => replaced(condition, `!(${textOf(condition, source)})`)),
    ...(isNegation(node) ? [replaced(node, `(${textOf(first(node.argument)!, source)})`)] : []),
    ...changedOperator(node, source, NEGATED),
  ],
  boundary: (node, source) => changedOperator(node, source, SHIFTED),
  'swap logic': (node, source) => changedOperator(node, source, SWAPPED),
  'swap constant': (node) => {
    if (node.type !== 'Literal') return []
    if (typeof node.value === 'boolean') return [replaced(node, String(!node.value))]
    return typeof node.value === 'number' ? [replaced(node, node.value === 0 ? '1' : '0')] : []
  },
  'drop element': (node, source) => {
    if (node.type === 'ArrayExpression') return without(nodesIn(node.elements), source)
    if (node.type === 'ObjectExpression') return without(nodesIn(node.properties), source)
    const given = isCall(node) ? nodesIn(node.arguments) : []
    return without(given, source).filter((_, i) => given[i]!.type === 'SpreadElement')
  },
  'drop term': (node) => {
    const [left, right] = [first(node.left), first(node.right)]
    if (!TERMS.has(String(node.operator)) || left === undefined || right === undefined) return []
    const isLogic = node.operator === '&&' || node.operator === '||'
    const last = { start: left.end, end: right.end, text: '' }
    return isLogic ? [last, { start: left.start, end: right.start, text: '' }] : [last]
  },
  'drop clause': (node, source) => {
    if (node.type !== 'TemplateLiteral' && typeof node.value !== 'string') return []
    const clauses = [...textOf(node, source).matchAll(CLAUSE)]
    return clauses.map(({ index, 0: { length } }) => ({ start: node.start + index, end: node.start + index + length, text: '' }))
  },
  'use input': (node, source, parents) => {
    if (node.type !== 'CallExpression') return []
    const callee = first(node.callee)
    const [object, name] = [first(callee?.object), nameOf(first(callee?.property))]
    const given = nodesIn(node.arguments).filter(({ type }) => type !== 'SpreadElement')
    if (callee?.type === 'Identifier' && parents.at(-1)?.type !== 'ExpressionStatement')
      return inputsOf(given).map((each) => replaced(node, textOf(each, source)))
    if (object === undefined) return []
    if (PURE.has(name)) return [{ start: object.end, end: node.end, text: '' }]
    const isBound = nameOf(object) === 'Math' && (name === 'min' || name === 'max')
    return isBound ? given.map((each) => replaced(node, `(${textOf(each, source)})`)) : []
  },
}

const first = (value: unknown): Node | undefined => nodesIn(value)[0]
const textOf = ({ start, end }: Node, source: string): string => source.slice(start, end)
const nameOf = (node: Node | undefined): string => String(node?.name ?? '')
const replaced = ({ start, end }: Node, text: string): Splice => ({ start, end, text })
const isCall = ({ type }: Node): boolean => type === 'CallExpression' || type === 'NewExpression'
const isSuper = (node: Node): boolean => first(first(node.expression)?.callee)?.type === 'Super'
const isNegation = ({ type, operator }: Node): boolean => type === 'UnaryExpression' && operator === '!'

/** True for `if (…) throw`, `return`, `continue` or `break`, also at the end of a block. */
function isGuard(node: Node): boolean {
  if (node.type !== 'IfStatement' || node.alternate !== null) return false
  const then = first(node.consequent)!
  return EXITS.has((then.type === 'BlockStatement' ? nodesIn(then.body).at(-1) : then)?.type ?? '')
}

/** Returns expressions that certainly are conditions, without equalities and negations: those change by their own operator. */
function conditionsOf(node: Node, source: string, parents: readonly Node[]): readonly Node[] {
  const found: (Node | undefined)[] = []
  if (WITH_TEST.has(node.type)) found.push(first(node.test))
  if (isCall(node) && PREDICATES.has(nameOf(first(first(node.callee)?.property)))) found.push(bodyOf(first(node.arguments)))
  const isNamed = BOOLEAN_NAME.test(nameOf(first(node.id ?? node.key)))
  const value = first(node.init ?? node.value)
  if (isNamed && value !== undefined) found.push(FUNCTIONS.has(value.type) ? bodyOf(value) : value)
  else if (returnsBoolean(node, source)) found.push(bodyOf(node))
  const within = parents.findLast(({ type }) => FUNCTIONS.has(type))
  if (node.type === 'ReturnStatement' && within !== undefined && returnsBoolean(within, source)) found.push(first(node.argument))
  return found.filter((each) => each !== undefined && !isNegation(each) && !(String(each.operator) in NEGATED)) as Node[]
}

/** Returns the body of an arrow function without braces. */
const bodyOf = (node: Node | undefined): Node | undefined =>
  node?.type === 'ArrowFunctionExpression' && node.expression === true ? first(node.body) : undefined

const returnsBoolean = (node: Node, source: string): boolean => {
  const type = FUNCTIONS.has(node.type) ? first(node.returnType) : undefined
  return type !== undefined && BOOLEAN_TYPE.test(textOf(type, source))
}

function changedOperator(node: Node, source: string, changes: Readonly<Record<string, string>>): readonly Splice[] {
  const [left, operator] = [first(node.left), String(node.operator)]
  const text = changes[operator]
  if (left === undefined || text === undefined) return []
  const start = source.indexOf(operator, left.end)
  return [{ start, end: start + operator.length, text }]
}

/** Returns the first argument, if it is a value that the called function may return changed. */
const inputsOf = (given: readonly Node[]): readonly Node[] => given.slice(0, 1).filter(({ type }) => INPUTS.has(type))

/** Removes one element at a time, with the comma after it. */
const without = (elements: readonly Node[], source: string): readonly Splice[] =>
  elements.map(({ start, end }, i) => {
    const after = elements[i + 1]?.start ?? end + (/^\s*,/.exec(source.slice(end))?.[0].length ?? 0)
    return { start, end: after, text: '' }
  })
