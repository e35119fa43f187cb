/**
 * Locations in a resource that a FHIRPath expression leads to, for FHIRPath Patch. Supports members, indexers, where(), extension(),
 * ofType(), as, first(), single(), last(), tail(), skip() and take(). Loads the definitions of R4, so frequently used code should not
 * import it. https://hl7.org/fhir/R4/fhirpatch.html
 */
import { R4 } from '../definitions/r4.ts'
import { type Element, isElement } from '../resource.ts'
import type { EvaluationScope } from './branch.ts'
import { createCompiler } from './compile.ts'
import { isPrimitive } from './compiled-expression.ts'
import { createMemberLookup, type Member } from './members.ts'
import { type Ast, type CallNode, parseExpression } from './parse.ts'
import { prepareTest } from './steps.ts'
import { UnsupportedExpression } from './tokens.ts'
import type { WorkBudget } from './work-budget.ts'

/** Location of an element: `holder[member]`, or `holder[member][index]` if the element repeats. */
export type ElementLocation = {
  /** FHIR type, or path of a backbone element. */
  readonly type: string
  /** Value of the element. Undefined or null if a primitive has only extensions. */
  readonly value: unknown
  /** Object that holds the value. Absent for the resource itself. */
  readonly holder?: Record<string, unknown>
  readonly member: string
  readonly index?: number
  /** Location of the element that `holder` belongs to. Absent for the resource itself. */
  readonly parent?: ElementLocation
}

/** Repeating element. `holder[member]` is its array, or absent if the element has no items. */
export type ElementList = { readonly type: string; readonly holder: Record<string, unknown>; readonly member: string }

/** Returns the JSON members of an element of a type: one, or all forms of a choice. Returns none if the type has no such element. */
export const jsonMembersOf: (type: string, name: string) => readonly Member[] = createMemberLookup(R4)

/**
 * Returns the locations that an expression leads to. Throws UnsupportedExpression if it is invalid or not a path. Throws TooCostly beyond
 * the work budget.
 */
export const locateElements = (expression: string, resource: Element, work?: WorkBudget): readonly ElementLocation[] =>
  at(parseExpression(expression), rootOf(resource), scopeOf(resource, work))

/** Returns the repeating elements that an expression names, also those without items. Throws as `locateElements` does. */
export function locateLists(expression: string, resource: Element, work?: WorkBudget): readonly ElementList[] {
  const ast = parseExpression(expression)
  if (ast.kind !== 'dot' || ast.step.kind !== 'name') throw new UnsupportedExpression('the path of a list ends with its name')
  const { name } = ast.step
  return at(ast.of, rootOf(resource), scopeOf(resource, work)).flatMap(({ value, type }) => {
    if (!isElement(value)) return []
    return jsonMembersOf(type, name).flatMap((member) => (member.list ? [{ type: member.type, holder: value, member: member.key }] : []))
  })
}

const rootOf = (resource: Element): readonly ElementLocation[] => [{ type: String(resource.resourceType), value: resource, member: '' }]

const scopeOf = (resource: Element, work: WorkBudget | undefined): EvaluationScope => ({
  resource,
  root: resource,
  ...(work === undefined ? {} : { work }),
})

function at(ast: Ast, focus: readonly ElementLocation[], scope: EvaluationScope): readonly ElementLocation[] {
  switch (ast.kind) {
    case 'this':
      return focus
    case 'name':
      return /^[A-Z]/.test(ast.name) ? focus.filter(({ type }) => isNamed(type, ast.name)) : membersAt(ast.name, focus)
    case 'dot': {
      const locations = at(ast.of, focus, scope)
      return ast.step.kind === 'name' ? membersAt(ast.step.name, locations) : called(ast.step, locations, scope)
    }
    case 'call':
      return called(ast, focus, scope)
    case 'index':
      return at(ast.of, focus, scope).slice(numberIn(ast.index)).slice(0, 1)
    case 'as':
      return at(ast.of, focus, scope).filter(({ type }) => isNamed(type, ast.type))
    default:
      throw new UnsupportedExpression('this is no path to an element')
  }
}

const isNamed = (type: string, name: string): boolean =>
  type === name || (R4.resourceTypes.includes(type) && (name === 'Resource' || name === 'DomainResource'))

function called(call: CallNode, locations: readonly ElementLocation[], scope: EvaluationScope): readonly ElementLocation[] {
  switch (call.name) {
    case 'where':
      return filtered(call, locations, scope)
    case 'extension':
      return filtered(call, membersAt('extension', locations), scope)
    case 'ofType':
    case 'as':
      return locations.filter(({ type }) => isNamed(type, call.type!))
    case 'first':
    case 'single':
      return locations.slice(0, 1)
    case 'last':
      return locations.slice(-1)
    case 'tail':
      return locations.slice(1)
    case 'skip':
      return locations.slice(numberIn(call.args[0]))
    case 'take':
      return locations.slice(0, numberIn(call.args[0]))
    default:
      throw new UnsupportedExpression(`${call.name}() in a path`)
  }
}

/** Returns the locations whose element meets the criterion. `extension(url)` is short for `extension.where(url = …)`. */
function filtered({ name, args }: CallNode, locations: readonly ElementLocation[], scope: EvaluationScope): readonly ElementLocation[] {
  const [argument] = args
  if (argument === undefined || args.length > 1) throw new UnsupportedExpression(`${name}() takes one argument`)
  const criterion: Ast =
    name === 'where' ? argument : { kind: 'operator', operator: '=', left: { kind: 'name', name: 'url' }, right: argument }
  const tests = new Map<string, ReturnType<typeof prepareTest>>()
  const testOn = (type: string): ReturnType<typeof prepareTest> => {
    const test = tests.get(type) ?? prepareTest(r4.test(criterion, type, scope.work))
    tests.set(type, test)
    return test
  }
  return locations.filter(({ type, value }) => value !== undefined && value !== null && testOn(type)(value, scope) === true)
}

const r4 = createCompiler(R4)

function numberIn(ast: Ast | undefined): number {
  if (ast?.kind !== 'literal' || typeof ast.value !== 'number' || !Number.isInteger(ast.value))
    throw new UnsupportedExpression('an index is a whole number')
  return ast.value
}

function membersAt(name: string, locations: readonly ElementLocation[]): readonly ElementLocation[] {
  return locations.flatMap((location): readonly ElementLocation[] => {
    const holder = isPrimitive(location.type) ? companionOf(location) : location.value
    if (!isElement(holder)) return []
    return jsonMembersOf(isPrimitive(location.type) ? 'Element' : location.type, name).flatMap((member) =>
      locationsIn(holder, member, location),
    )
  })
}

/** Returns the companion of a primitive, which holds its id and extensions. https://hl7.org/fhir/R4/json.html#primitive */
function companionOf({ holder, member, index }: ElementLocation): unknown {
  const beside = holder?.[`_${member}`]
  return index === undefined ? beside : Array.isArray(beside) ? beside[index] : undefined
}

function locationsIn(holder: Record<string, unknown>, { key, type, list }: Member, parent: ElementLocation): readonly ElementLocation[] {
  const value = holder[key]
  const beside = isPrimitive(type) ? holder[`_${key}`] : undefined
  if (value === undefined && beside === undefined) return []
  if (!list) return [{ type: typeOf(type, value), value, holder, member: key, parent }]
  const values: readonly unknown[] = Array.isArray(value) ? value : Array.isArray(beside) ? beside.map(() => undefined) : []
  return values.map((item, index) => ({ type: typeOf(type, item), value: item, holder, member: key, index, parent }))
}

const typeOf = (type: string, value: unknown): string => (type === 'Resource' && isElement(value) ? String(value.resourceType) : type)
