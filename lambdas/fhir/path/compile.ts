/**
 * Compiles FHIRPath to branches with static types. An expression on a type becomes a set of paths to values of known types. Each form of a
 * choice (value[x]) gets its own path. Unsupported parts throw UnsupportedExpression. http://hl7.org/fhirpath/N1/
 */
import type { Branch, Expression } from './branch.ts'
import {
  ANY_TYPE,
  appendStep,
  branchesOf,
  type CompiledExpression,
  type CompiledItem,
  type CompilerContext,
  compiledValue,
  compileTypeTest,
  expressionOf,
  filterByType,
  isPrimitive,
  itemsOf,
  pickItems,
  testOf,
  unionOf,
} from './compiled-expression.ts'
import type { TypeDefinitions } from './definitions.ts'
import { expressionSizeOf } from './expression-size.ts'
import { compileCall, integerLiteralOf } from './functions.ts'
import { createMemberLookup, type MemberLookup } from './members.ts'
import { type Ast, parseExpression } from './parse.ts'
import { UnsupportedExpression } from './tokens.ts'
import { spendWork, type WorkBudget } from './work-budget.ts'

/**
 * Compiler of FHIRPath. A short expression may expand to any number of paths. `work`: limits the compiled size; a larger expression throws
 * TooCostly. Absent: no limit.
 */
export type Compiler = {
  /**
   * Returns the branches to the values of a search parameter expression on a type. Returns none if the type lacks the named elements.
   * Choices may also have their JSON names, as in published definitions.
   */
  readonly branches: (expression: string, type: string, work?: WorkBudget) => readonly Branch[]
  /** Compiles an expression on a type to an expression of one value, which is tested as a boolean. */
  readonly test: (expression: string | Ast, type: string, work?: WorkBudget) => Expression
}

export function createCompiler(definitions: TypeDefinitions): Compiler {
  const resourceTypes = new Set(definitions.resourceTypes)
  const isResource = (type: string): boolean => resourceTypes.has(type)
  const [pathMembers, anyMembers] = [createMemberLookup(definitions), createMemberLookup(definitions, true)]
  const compiled = (expression: string | Ast, type: string, work: WorkBudget | undefined, membersOf = pathMembers): CompiledExpression => {
    const self: readonly CompiledItem[] = [{ type, steps: [], many: false }]
    const owner = type.split('.')[0]!
    const context: Context = { isType, isResource, membersOf, resource: isResource(owner) ? owner : ANY_TYPE, work }
    return compileAst(typeof expression === 'string' ? parseExpression(expression) : expression, self, self, context)
  }
  return {
    branches: (expression, type, work) => branchesOf(compiled(expression, type, work, anyMembers)),
    test: (expression, type, work) => testOf(compiled(expression, type, work)),
  }
}

type Context = Pick<CompilerContext, 'isType' | 'isResource'> & {
  readonly membersOf: MemberLookup
  /** Resource type of %resource. `ANY_TYPE` if the expression starts at a data type. */
  readonly resource: string
  readonly work: WorkBudget | undefined
}

function compileAst(ast: Ast, focus: readonly CompiledItem[], self: readonly CompiledItem[], context: Context): CompiledExpression {
  const compiled = compileKind(ast, focus, self, context)
  if (context.work !== undefined) spendWork(context.work, expressionSizeOf(compiled))
  return compiled
}

function compileKind(ast: Ast, focus: readonly CompiledItem[], self: readonly CompiledItem[], context: Context): CompiledExpression {
  const down = (inner: Ast): CompiledExpression => compileAst(inner, focus, self, context)
  const tools = toolsOf(context)
  switch (ast.kind) {
    case 'literal':
      return compiledValue(ast.value, ast.type)
    case 'empty':
      return { items: [] }
    case 'this':
      return { items: self }
    case 'environment':
      return environment(ast.name, self, context)
    case 'name':
      return { items: (focus === self ? asRoot(ast.name, focus, context) : undefined) ?? membersNamed(ast.name, focus, context) }
    case 'dot': {
      const items = down(ast.of)
      return ast.step.kind === 'call'
        ? compileCall(ast.step, items, self, tools)
        : { items: membersNamed(ast.step.name, itemsOf(items), context) }
    }
    case 'call':
      return compileCall(ast, { items: focus }, self, tools)
    case 'index':
      return { items: pickItems(itemsOf(down(ast.of)), (branches) => ['item', integerLiteralOf(ast.index), branches], false) }
    case 'as':
      return { items: filterByType(itemsOf(down(ast.of)), ast.type, tools) }
    case 'is':
      return compiledValue(typeTest(ast.of, ast.type, down, tools), 'boolean')
    case 'negative':
      return compiledValue(['operator', '-', [0, expressionOf(down(ast.of))]], 'decimal')
    case 'operator':
      return operator(ast.operator, down(ast.left), down(ast.right))
  }
}

const toolsOf = (context: Context): CompilerContext => ({
  argument: (ast, focus) => compileAst(ast, focus, focus, context),
  member: (name, items) => membersNamed(name, items, context),
  isType: context.isType,
  isResource: context.isResource,
})

function environment(name: string, self: readonly CompiledItem[], { resource }: Context): CompiledExpression {
  if (name === 'resource') return { items: [{ type: resource, steps: [['resource']], many: false }] }
  if (name === 'rootResource') return { items: [{ type: ANY_TYPE, steps: [['root']], many: false }] }
  if (name === 'context') return { items: self }
  if (name === 'ucum') return compiledValue('http://unitsofmeasure.org', 'string')
  throw new UnsupportedExpression(`%${name}`)
}

/**
 * Returns the focus itself for the name of its type, as in `Patient.name`. The name of another type selects nothing. Returns undefined for
 * a name in lower case, which is an element.
 */
function asRoot(name: string, focus: readonly CompiledItem[], { isResource }: Context): readonly CompiledItem[] | undefined {
  if (!/^[A-Z]/.test(name)) return undefined
  return focus.filter(({ type }) => type === name || ((name === 'Resource' || name === 'DomainResource') && isResource(type)))
}

function membersNamed(name: string, items: readonly CompiledItem[], context: Context): readonly CompiledItem[] {
  return items.flatMap((item): readonly CompiledItem[] => {
    if (item.type === ANY_TYPE) return [appendStep(item, name, { type: ANY_TYPE, many: true })]
    if (isPrimitive(item.type)) return name === 'extension' || name === 'id' ? primitiveMember(name, item) : []
    const found = context.membersOf(item.type, name)
    if (found.length === 0 && item.type === 'Resource') return [appendStep(item, name, { type: ANY_TYPE, many: true })]
    return found.map(({ key, type, list, system }) => {
      const { system: _, ...plain } = item
      return appendStep(plain, isPrimitive(type) ? `${key}?` : key, {
        type,
        many: item.many || list,
        ...(system === undefined ? {} : { system }),
      })
    })
  })
}

/**
 * Returns the items for extensions or the id of a primitive. JSON holds them in the companion member, with an underscore.
 * https://hl7.org/fhir/R4/json.html#primitive
 */
function primitiveMember(name: string, item: CompiledItem): readonly CompiledItem[] {
  const last = item.steps.at(-1)
  if (typeof last !== 'string') throw new UnsupportedExpression(`.${name} of a primitive that was picked`)
  const companion = `_${last.replace(/\?$/, '')}`
  return [{ type: name === 'id' ? 'string' : 'Extension', steps: [...item.steps.slice(0, -1), companion, name], many: true }]
}

/**
 * Compiles an equality. Dates are equal if they are the same instant. Dates that differ only in precision are neither equal nor unequal.
 * Throws UnsupportedExpression for `~` and `!~` of decimals or dates.
 */
function equality(name: '=' | '!=' | '~' | '!~', left: CompiledExpression, right: CompiledExpression): CompiledExpression {
  const [a, b] = [left, right].map((side) => itemsOf(side).map(({ type }) => type)) as [string[], string[]]
  const areTimes = a.some(isTime) && b.some(isTime)
  const isLoose = name.endsWith('~')
  if (isLoose && (areTimes || [...a, ...b].includes('decimal'))) throw new UnsupportedExpression(`${name} of decimals and dates`)
  if (!areTimes) return compiledValue([name, branchesOf(left), branchesOf(right)], 'boolean')
  return compiledValue(['operator', name === '=' ? 'sameTime' : 'otherTime', [expressionOf(left), expressionOf(right)]], 'boolean')
}

const isTime = (type: string): boolean => type === 'date' || type === 'dateTime' || type === 'instant' || type === 'time'

/** Compiles a type test. `resolve() is Patient` tests the type that the reference names and reads no target. */
function typeTest(operand: Ast, type: string, down: (ast: Ast) => CompiledExpression, tools: CompilerContext): Expression {
  if (operand.kind === 'call' && operand.name === 'resolve') return ['refers', type, branchesOf(down({ kind: 'this' }))]
  if (operand.kind === 'dot' && operand.step.kind === 'call' && operand.step.name === 'resolve')
    return ['refers', type, branchesOf(down(operand.of))]
  return compileTypeTest(itemsOf(down(operand)), type, tools)
}

function operator(name: string, left: CompiledExpression, right: CompiledExpression): CompiledExpression {
  switch (name) {
    case '|':
      return unionOf([...itemsOf(left), ...itemsOf(right)])
    case 'and':
    case 'or':
    case 'implies':
      return compiledValue([name, testOf(left), testOf(right)], 'boolean')
    case 'xor':
      return compiledValue(['operator', name, [testOf(left), testOf(right)]], 'boolean')
    case '=':
    case '!=':
    case '~':
    case '!~':
      return equality(name, left, right)
    case 'in':
      return compiledValue(['in', expressionOf(left), branchesOf(right)], 'boolean')
    case 'contains':
      return compiledValue(['in', expressionOf(right), branchesOf(left)], 'boolean')
    default:
      return compiledValue(
        ['operator', name, [expressionOf(left), expressionOf(right)]],
        /[<>]/.test(name) ? 'boolean' : name === '&' ? 'string' : 'decimal',
      )
  }
}

function isType(type: string, expected: string): boolean {
  return type === expected || type === SYSTEM.get(expected) || (SUBTYPES.get(expected)?.includes(type) ?? false)
}

/** FHIRPath System type → FHIR type. Search parameters use these names without a namespace. http://hl7.org/fhirpath/N1/#types */
const SYSTEM: ReadonlyMap<string, string> = new Map([
  ['Boolean', 'boolean'],
  ['String', 'string'],
  ['Integer', 'integer'],
  ['Decimal', 'decimal'],
  ['Date', 'date'],
  ['DateTime', 'dateTime'],
  ['Time', 'time'],
])

const SUBTYPES: ReadonlyMap<string, readonly string[]> = new Map([
  ['Quantity', ['Age', 'Count', 'Distance', 'Duration', 'MoneyQuantity', 'SimpleQuantity']],
  ['string', ['code', 'id', 'markdown']],
  ['uri', ['url', 'canonical', 'oid', 'uuid']],
  ['integer', ['unsignedInt', 'positiveInt']],
])
