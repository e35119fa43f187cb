/** Evaluates compiled expressions of at most one value. http://hl7.org/fhirpath/N1/#operations */
import type { Branch, EvaluationScope, Expression, ExpressionEvaluator, ItemCollector } from './branch.ts'
import { areDistinct, areListsEqual, isEqual, isEquivalent, NO_VALUE, truthOf } from './compare.ts'
import { OPERATORS, type Operator } from './operators.ts'
import { refersTo } from './reference-type.ts'
import { existenceTestOf, itemCollectorOf as gatherWith } from './walk.ts'
import { CHARACTERS_PER_ITEM, spendWork } from './work-budget.ts'

export function evaluatorOf(expression: Expression): ExpressionEvaluator {
  if (expression === null) return () => undefined
  if (typeof expression !== 'object') return () => expression
  switch (expression[0]) {
    case 'refers':
      return refers(expression[1], gather(expression[2]))
    case 'is':
      return typeTest(expression[1])
    case 'all':
      return everyItem(expression[1])
    case '=':
    case '!=':
    case '~':
    case '!~':
      return equality(expression[0], gather(expression[1]), gather(expression[2]))
    case 'in': {
      const [item, list] = [evaluatorOf(expression[1]), gather(expression[2])]
      return (focus, scope) => {
        const value = item(focus, scope)
        return value === undefined ? undefined : list(focus, scope).some((other) => isEqual(other, value))
      }
    }
    case 'and':
    case 'or':
    case 'implies':
      return logic(expression[0], evaluatorOf(expression[1]), evaluatorOf(expression[2]))
    case 'iif': {
      const [test, yes, no] = [evaluatorOf(expression[1]), evaluatorOf(expression[2]), evaluatorOf(expression[3])]
      return (focus, scope) => (truthOf(test(focus, scope)) === true ? yes(focus, scope) : no(focus, scope))
    }
    case 'operator':
      return operation(expression[1], expression[2])
    default:
      return condense(expression[0], expression[1])
  }
}

const gather = (branches: readonly Branch[]): ItemCollector => gatherWith(branches, evaluatorOf)

function operation(name: string, operands: readonly Expression[]): ExpressionEvaluator {
  const operator = costing(name, OPERATORS[name]!)
  const evaluate = operands.map(evaluatorOf)
  const [a, b] = evaluate
  if (operands.length === 1) return (focus, scope) => operator(scope, a!(focus, scope))
  if (operands.length === 2) return (focus, scope) => operator(scope, a!(focus, scope), b!(focus, scope))
  return (focus, scope) => operator(scope, ...evaluate.map((operand) => operand(focus, scope)))
}

/** Returns the operator extended by a charge: it spends work for reading or searching long texts, and for creating them. */
const costing = (name: string, operator: Operator) => {
  return ({ work }: EvaluationScope, ...operands: readonly unknown[]): unknown => {
    if (work === undefined) return operator(...operands)
    spendWork(work, searchOf(name, operands))
    const value = operator(...operands)
    if (typeof value === 'string') spendWork(work, value.length / CHARACTERS_PER_ITEM)
    return value
  }
}

/** Returns the work units of reading a text, or of searching it. A search may compare each character of one text with each of the other. */
function searchOf(name: string, [text, part]: readonly unknown[]): number {
  if (typeof text !== 'string') return 0
  return (typeof part === 'string' && SEARCHING.has(name) ? text.length * part.length : text.length) / CHARACTERS_PER_ITEM
}

const SEARCHING: ReadonlySet<string> = new Set(['contains', 'indexOf', 'replace'])

type Condensing = Extract<Expression, readonly [string, readonly Branch[]]>[0]

/** Returns an evaluator that reduces a whole collection to one value. */
function condense(name: Condensing, branches: readonly Branch[]): ExpressionEvaluator {
  if (name === 'exists') return existenceTestOf(branches, evaluatorOf)
  if (name === 'empty') {
    const found = existenceTestOf(branches, evaluatorOf)
    return (focus, scope) => !found(focus, scope)
  }
  const [collect, reduce] = [gather(branches), CONDENSE[name]]
  return (focus, scope) => reduce(collect(focus, scope))
}

const CONDENSE: Readonly<Record<Exclude<Condensing, 'exists' | 'empty'>, (items: readonly unknown[]) => unknown>> = {
  count: (items) => items.length,
  one: (items) => (items.length === 1 && items[0] !== NO_VALUE ? items[0] : undefined),
  true: (items) => (items.length === 0 ? undefined : items.length === 1 ? truthOf(items[0]) : true),
  hasValue: (items) => items.length === 1 && typeof items[0] !== 'object',
  isDistinct: areDistinct,
  allTrue: (items) => items.every((item) => item === true),
  allFalse: (items) => items.every((item) => item === false),
  anyTrue: (items) => items.some((item) => item === true),
}

function refers(type: string, collect: ItemCollector): ExpressionEvaluator {
  return (focus, scope) => {
    const items = collect(focus, scope)
    return items.length === 1 ? refersTo(items[0], type, scope.resource) : undefined
  }
}

function typeTest(cases: readonly (readonly [Branch, boolean | string])[]): ExpressionEvaluator {
  const tests = cases.map(([branch, verdict]) => [gather([branch]), verdict] as const)
  return (focus, scope) => {
    for (const [collect, verdict] of tests) {
      const items = collect(focus, scope)
      if (items.length > 0)
        return typeof verdict === 'boolean' ? verdict : (items[0] as { resourceType?: unknown }).resourceType === verdict
    }
    return undefined
  }
}

function everyItem(cases: readonly (readonly [Branch, Expression])[]): ExpressionEvaluator {
  const tests = cases.map(([branch, test]) => [gather([branch]), evaluatorOf(test)] as const)
  return (focus, scope) => tests.every(([collect, test]) => collect(focus, scope).every((item) => truthOf(test(item, scope)) === true))
}

function equality(name: '=' | '!=' | '~' | '!~', left: ItemCollector, right: ItemCollector): ExpressionEvaluator {
  const equal = name.endsWith('=') ? areListsEqual : isEquivalent
  const expected = !name.startsWith('!')
  return (focus, scope) => {
    const a = left(focus, scope)
    const b = right(focus, scope)
    if (equal === isEquivalent && (a.length === 0 || b.length === 0)) return (a.length === b.length) === expected
    if (a.length === 0 || b.length === 0 || a[0] === NO_VALUE || b[0] === NO_VALUE) return undefined
    if (equal === isEquivalent) spendWork(scope.work, a.length * b.length + (charactersOf(a) + charactersOf(b)) / CHARACTERS_PER_ITEM)
    return equal(a, b) === expected
  }
}

const charactersOf = (values: readonly unknown[]): number =>
  values.reduce<number>((sum, value) => sum + (typeof value === 'string' ? value.length : 1), 0)

/** Evaluates boolean operators with three values: true, false and undefined. http://hl7.org/fhirpath/N1/#boolean-logic */
function logic(name: 'and' | 'or' | 'implies', left: ExpressionEvaluator, right: ExpressionEvaluator): ExpressionEvaluator {
  const decisive = name !== 'and'
  return (focus, scope) => {
    const raw = truthOf(left(focus, scope))
    const a = name === 'implies' && raw !== undefined ? !raw : raw
    if (a === decisive) return decisive
    const b = truthOf(right(focus, scope))
    if (b === decisive) return decisive
    return a === undefined || b === undefined ? undefined : !decisive
  }
}
