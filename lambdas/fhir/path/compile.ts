/**
 * Compiles FHIRPath to branches, statically typed: an expression on a type is a set of ways to values of known types, in which the choices
 * (value[x]) are already spelled out. What it does not know it refuses with Unsupported. http://hl7.org/fhirpath/N1/
 */
import type { Branch, Expression } from './branch.ts'
import {
  ANY,
  branchesOf,
  type Compile,
  type Compiled,
  expressionOf,
  type Item,
  isPrimitive,
  isTest,
  itemsOf,
  ofType,
  onward,
  pick,
  testOf,
  united,
  value,
} from './compiled.ts'
import type { Definitions } from './definitions.ts'
import { weigh } from './expression-size.ts'
import { compileCall, wholeNumber } from './functions.ts'
import { type MembersOf, membersIn } from './members.ts'
import { type Ast, parse } from './parse.ts'
import { Unsupported } from './tokens.ts'
import { spend, type Work } from './work-budget.ts'

/** A few steps may stand for any number of ways: `work` bounds what is compiled. TooCostly, where it is given. */
export type Compiler = {
  /** The values an expression of a search parameter has on a type; empty if its names fit nothing. Choices may have their JSON names, as published definitions write them. */
  readonly branches: (expression: string, type: string, work?: Work) => readonly Branch[]
  /** The truth of an expression on a type. */
  readonly test: (expression: string | Ast, type: string, work?: Work) => Expression
}

export function compiler(definitions: Definitions): Compiler {
  const resourceTypes = new Set(definitions.resourceTypes)
  const isResource = (type: string): boolean => resourceTypes.has(type)
  const [byPathName, byAnyName] = [membersIn(definitions), membersIn(definitions, true)]
  const compiled = (expression: string | Ast, type: string, work: Work | undefined, membersOf = byPathName): Compiled => {
    const self: readonly Item[] = [{ type, steps: [], many: false }]
    const owner = type.split('.')[0]!
    const context: Context = { isType, isResource, membersOf, resource: isResource(owner) ? owner : ANY, work }
    return compileAst(typeof expression === 'string' ? parse(expression) : expression, self, self, context)
  }
  return {
    branches: (expression, type, work) => branchesOf(compiled(expression, type, work, byAnyName)),
    test: (expression, type, work) => testOf(compiled(expression, type, work)),
  }
}

type Context = Pick<Compile, 'isType' | 'isResource'> & {
  readonly membersOf: MembersOf
  /** The type of %resource. */
  readonly resource: string
  readonly work: Work | undefined
}

function compileAst(ast: Ast, focus: readonly Item[], self: readonly Item[], context: Context): Compiled {
  const compiled = compileKind(ast, focus, self, context)
  if (context.work !== undefined) spend(context.work, weigh(compiled))
  return compiled
}

function compileKind(ast: Ast, focus: readonly Item[], self: readonly Item[], context: Context): Compiled {
  const down = (inner: Ast): Compiled => compileAst(inner, focus, self, context)
  const tools = toolsOf(context)
  switch (ast.kind) {
    case 'literal':
      return value(ast.value, ast.type)
    case 'empty':
      return { items: [] }
    case 'this':
      return { items: self }
    case 'environment':
      return environment(ast.name, self, context)
    case 'name':
      return { items: (focus === self ? asRoot(ast.name, focus, context) : undefined) ?? membersNamed(ast.name, focus, context) }
    case 'dot': {
      const of = down(ast.of)
      return ast.step.kind === 'call'
        ? compileCall(ast.step, of, self, tools)
        : { items: membersNamed(ast.step.name, itemsOf(of), context) }
    }
    case 'call':
      return compileCall(ast, { items: focus }, self, tools)
    case 'index':
      return { items: pick(itemsOf(down(ast.of)), (branches) => ['item', wholeNumber(ast.index), branches], false) }
    case 'as':
      return { items: ofType(itemsOf(down(ast.of)), ast.type, tools) }
    case 'is':
      return value(typeTest(ast.of, ast.type, down, tools), 'boolean')
    case 'negative':
      return value(['operator', '-', [0, expressionOf(down(ast.of))]], 'decimal')
    case 'operator':
      return operator(ast.operator, down(ast.left), down(ast.right))
  }
}

const toolsOf = (context: Context): Compile => ({
  argument: (ast, focus) => compileAst(ast, focus, focus, context),
  member: (name, of) => membersNamed(name, of, context),
  isType: context.isType,
  isResource: context.isResource,
})

function environment(name: string, self: readonly Item[], { resource }: Context): Compiled {
  if (name === 'resource') return { items: [{ type: resource, steps: [['resource']], many: false }] }
  if (name === 'rootResource') return { items: [{ type: ANY, steps: [['root']], many: false }] }
  if (name === 'context') return { items: self }
  if (name === 'ucum') return value('http://unitsofmeasure.org', 'string')
  throw new Unsupported(`%${name}`)
}

/** `Patient` in `Patient.name` is the focus itself; another type's name is nothing. */
function asRoot(name: string, focus: readonly Item[], { isResource }: Context): readonly Item[] | undefined {
  if (!/^[A-Z]/.test(name)) return undefined
  return focus.filter(({ type }) => type === name || ((name === 'Resource' || name === 'DomainResource') && isResource(type)))
}

function membersNamed(name: string, of: readonly Item[], context: Context): readonly Item[] {
  return of.flatMap((item): readonly Item[] => {
    if (item.type === ANY) return [onward(item, name, { type: ANY, many: true })]
    if (isPrimitive(item.type)) return name === 'extension' || name === 'id' ? ofPrimitive(name, item) : []
    const found = context.membersOf(item.type, name)
    if (found.length === 0 && item.type === 'Resource') return [onward(item, name, { type: ANY, many: true })]
    return found.map(({ key, type, list, system }) => {
      const { system: _, ...plain } = item
      return onward(plain, isPrimitive(type) ? `${key}?` : key, {
        type,
        many: item.many || list,
        ...(system === undefined ? {} : { system }),
      })
    })
  })
}

/** Extensions and ids of a primitive stand in the member beside it, with an underscore. https://hl7.org/fhir/R4/json.html#primitive */
function ofPrimitive(name: string, item: Item): readonly Item[] {
  const last = item.steps.at(-1)
  if (typeof last !== 'string') throw new Unsupported(`.${name} of a primitive that was picked`)
  const companion = `_${last.replace(/\?$/, '')}`
  return [{ type: name === 'id' ? 'string' : 'Extension', steps: [...item.steps.slice(0, -1), companion, name], many: true }]
}

/** Dates are equal when they are the same moment; of different precisions they are neither equal nor unequal. */
function equality(name: '=' | '!=' | '~' | '!~', left: Compiled, right: Compiled): Compiled {
  const [a, b] = [left, right].map((side) => itemsOf(side).map(({ type }) => type)) as [string[], string[]]
  const areTimes = a.some(isTime) && b.some(isTime)
  const isLoose = name.endsWith('~')
  if (isLoose && (areTimes || [...a, ...b].includes('decimal'))) throw new Unsupported(`${name} of decimals and dates`)
  if (!areTimes) return value([name, branchesOf(left), branchesOf(right)], 'boolean')
  return value(['operator', name === '=' ? 'sameTime' : 'otherTime', [expressionOf(left), expressionOf(right)]], 'boolean')
}

const isTime = (type: string): boolean => type === 'date' || type === 'dateTime' || type === 'instant' || type === 'time'

/** `resolve() is Patient` asks what the reference says it refers to. */
function typeTest(of: Ast, type: string, down: (ast: Ast) => Compiled, tools: Compile): Expression {
  if (of.kind === 'call' && of.name === 'resolve') return ['refers', type, branchesOf(down({ kind: 'this' }))]
  if (of.kind === 'dot' && of.step.kind === 'call' && of.step.name === 'resolve') return ['refers', type, branchesOf(down(of.of))]
  return isTest(itemsOf(down(of)), type, tools)
}

function operator(name: string, left: Compiled, right: Compiled): Compiled {
  switch (name) {
    case '|':
      return united([...itemsOf(left), ...itemsOf(right)])
    case 'and':
    case 'or':
    case 'implies':
      return value([name, testOf(left), testOf(right)], 'boolean')
    case 'xor':
      return value(['operator', name, [testOf(left), testOf(right)]], 'boolean')
    case '=':
    case '!=':
    case '~':
    case '!~':
      return equality(name, left, right)
    case 'in':
      return value(['in', expressionOf(left), branchesOf(right)], 'boolean')
    case 'contains':
      return value(['in', expressionOf(right), branchesOf(left)], 'boolean')
    default:
      return value(
        ['operator', name, [expressionOf(left), expressionOf(right)]],
        /[<>]/.test(name) ? 'boolean' : name === '&' ? 'string' : 'decimal',
      )
  }
}

function isType(type: string, wanted: string): boolean {
  return type === wanted || type === SYSTEM.get(wanted) || (SUBTYPES.get(wanted)?.includes(type) ?? false)
}

/** http://hl7.org/fhirpath/N1/#types, as they are written in search parameters. */
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
