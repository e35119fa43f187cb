/**
 * Search parameters somebody defines by a SearchParameter resource. https://hl7.org/fhir/R4/searchparameter.html
 *
 * The fields of one are named by what it means, so that documents extracted under another meaning of the same code are never mixed in; where
 * tenants mean the same they share them, for an index has room for so many.
 */
import { createHash } from 'node:crypto'
import type { ComponentMapping } from '../../../search-mappings/mapping.ts'
import { R4 } from '../../fhir/definitions/r4.ts'
import { type FhirError, fhirError, type IssueCode } from '../../fhir/outcome.ts'
import { type Branch, withoutCompanions } from '../../fhir/path/branch.ts'
import { type Compiler, createCompiler } from '../../fhir/path/compile.ts'
import { MAX_EXPRESSION_LENGTH } from '../../fhir/path/parse.ts'
import { TooCostly, type WorkBudget } from '../../fhir/path/work-budget.ts'
import { isElement, type Resource } from '../../fhir/resource.ts'
import { isResourceType, resourceTypes } from '../../fhir/resource-types.ts'
import type { ExpressionRunner } from '../../ports/execution/expression-runner.ts'
import type { CustomMapping } from '../custom-mapping.ts'
import { findR4Mapping, findSearchParameter } from '../parameters.ts'
import { isWithinTenantQuota, TENANT_QUOTA_TEXT } from './custom-parameter-limits.ts'
import { choiceNamesIn, isExtension, unionOperandsOf, valuesOfExtension } from './definition-expression.ts'
import { findExpressionProblem } from './usable-expression.ts'

/** What is searched by, by itself and as a component. */
const SINGLE: ReadonlySet<string> = new Set(['token', 'string', 'date', 'reference', 'uri', 'number', 'quantity'])

/** Made for the first definition: R4 as data takes time to load, and most searches do without. */
let ofR4: Compiler | undefined
function fhirpath(): Compiler {
  ofR4 ??= createCompiler(R4)
  return ofR4
}

/** How large all that is compiled of one definition may be, on all its types: twice what a long expression on every type comes to. */
const MOST_COMPILED = 500_000

/** Ways to values on one type: the expressions of R4 have some tens. */
const MOST_BRANCHES = 10_000

const MOST_COMPONENTS = 16

/** A component of a composite: what it is by its definition, and where its values are by the composite. */
type Component = Omit<ComponentMapping, 'values'>

/**
 * What an active SearchParameter adds: one mapping for each of its types. Nothing where it is not active, or says what R4 says already.
 * FhirError 422 with the reason: no expression, one that has no values on the type, a type of parameter that is not searched by, a
 * component that is neither R4's nor among the `known`. An expression that is not compiled is not looked into: checkDefinition does.
 */
export function customMappingsOf(definition: Resource, tenant: string, known: readonly CustomMapping[] = []): readonly CustomMapping[] {
  const { status, code, type, url, base, expression, target, component } = definition as Readonly<Record<string, unknown>>
  if (status !== 'active') return []
  if (typeof code !== 'string' || !/^[A-Za-z_][\w-]{0,63}$/.test(code))
    throw refused('A code is a letter, then letters, digits, - and _', 'code')
  if (typeof type !== 'string' || !(SINGLE.has(type) || type === 'composite'))
    throw refused(`Parameters of type ${String(type)} cannot be added`, 'type')
  checkText(expression, 'expression')
  const targets = Array.isArray(target) ? target.map(String) : ['*']
  const components = type === 'composite' ? componentsOf(component, known) : []
  const address = typeof url === 'string' ? url : ''
  const work = { left: MOST_COMPILED }
  // A parameter of R4 stays what it is.
  const bases = basesOf(base).filter((each) => findSearchParameter(each, code) === undefined)
  const compiled = bases.map((base) => ({ base, values: valuesOn(base, expression, components, work) }))
  // Documents of before these rules are made again: the parameter gets another field.
  const rules = [
    ...(compiled.some(({ values }) => endsAtExtension(values)) ? ['value'] : []),
    ...([expression, ...components.map((each) => each.expression)].some((each) => choiceNamesIn(each).length > 0) ? ['choice'] : []),
  ]
  const meaning = [address, type, expression, targets, ...(components.length === 0 ? [] : [components]), ...rules]
  const field = `${code}~${createHash('sha256').update(JSON.stringify(meaning)).digest('hex').slice(0, 8)}`
  const more = { code, type, url: address, expression, ...(type === 'reference' ? { targets } : {}) }
  return compiled.map(({ base, values }) => ({ tenant, base, field, ...more, ...withValuesOfExtensions(values, type) }))
}

/** Returns the parts of the union that have no values on any type of the definition. */
export function findEmptyOperands({ base, expression }: Resource): readonly string[] {
  if (typeof expression !== 'string') return []
  const operands = unionOperandsOf(expression)
  if (operands.length < 2) return []
  const bases = basesOf(base)
  const work = { left: MOST_COMPILED }
  return operands.filter((each) => bases.every((base) => branchesOf(each, base, work)?.length === 0))
}

/**
 * FhirError 422 also where an expression that is not compiled is wrong, which is the same on each of its types, and where the `known` are as
 * many as there may be.
 */
export async function checkDefinition(
  definition: Resource,
  tenant: string,
  expressions: ExpressionRunner,
  known: readonly CustomMapping[] = [],
): Promise<void> {
  const mappings = customMappingsOf(definition, tenant, known)
  const others = known.filter(({ url }) => url !== definition.url)
  if (!isWithinTenantQuota(mappings, others))
    throw refused(`There are as many parameters as this server searches by: ${TENANT_QUOTA_TEXT}`, 'base', 'too-costly')
  const first = mappings.find(({ interpreted }) => interpreted)
  if (first === undefined) return
  const { base, expression, components = [] } = first
  await usable(expressions, expression, base, 'expression')
  for (const [i, { expression }] of components.entries()) await usable(expressions, expression, 'Element', `component[${i}]`)
}

async function usable(expressions: ExpressionRunner, expression: string, type: string, element: string): Promise<void> {
  const [choice] = choiceNamesIn(expression, true)
  if (choice !== undefined)
    throw refused(
      `${choice} is a name of JSON. In this expression the element has its FHIRPath name, such as value.ofType(string)`,
      element,
    )
  const reason = await findExpressionProblem(expressions, expression, type)
  if (reason === 'too-costly') throw refused('The expression takes too long, or too much memory', element, reason)
  if (reason !== undefined) throw refused(`The expression cannot be used on ${type}: ${reason.text}`, element)
}

function checkText(expression: unknown, element: string): asserts expression is string {
  if (typeof expression !== 'string') throw refused('A parameter that is added has an expression', element)
  if (expression.length > MAX_EXPRESSION_LENGTH)
    throw refused(`An expression has at most ${MAX_EXPRESSION_LENGTH} characters`, element, 'too-long')
}

/** The types on which R4 has a parameter of this code already: there it stays what it is. One of all types is of Resource. */
export function typesWithR4Parameter({ status, code, base }: Resource): readonly string[] {
  if (status !== 'active' || typeof code !== 'string' || !Array.isArray(base)) return []
  const types = base.some(isOfEveryType) ? resourceTypes : base.map(String).filter(isResourceType)
  const found = types.filter((type) => findSearchParameter(type, code) !== undefined)
  return found.length === resourceTypes.length ? ['Resource'] : found
}

const isOfEveryType = (base: unknown): boolean => base === 'Resource' || base === 'DomainResource'

function basesOf(base: unknown): readonly string[] {
  const bases = Array.isArray(base) ? base.map(String) : []
  const every = bases.some(isOfEveryType)
  const unknown = bases.find((each) => !isResourceType(each) && !isOfEveryType(each))
  if (bases.length === 0 || unknown !== undefined) throw refused(`${unknown ?? 'Nothing'} is no resource type to search on`, 'base')
  return every ? resourceTypes : [...new Set(bases)]
}

function componentsOf(component: unknown, known: readonly CustomMapping[]): readonly Component[] {
  if (!Array.isArray(component) || component.length === 0) throw refused('A composite parameter has components', 'component')
  if (component.length > MOST_COMPONENTS)
    throw refused(`A composite parameter has at most ${MOST_COMPONENTS} components`, 'component', 'too-long')
  return component.filter(isElement).map(({ definition, expression }, i) => {
    checkText(expression, `component[${i}]`)
    const url = String(definition).replace(/\|.*$/, '')
    const found = findR4Mapping(url) ?? known.find((each) => each.url === url)
    if (found === undefined)
      throw refused(`${url.slice(0, 200)} is neither a parameter of R4 nor an active one of this server`, `component[${i}]`)
    const { code, type, targets } = found
    if (!SINGLE.has(type)) throw refused(`A parameter of type ${type} cannot be a component`, `component[${i}]`)
    return { code, type, url, expression, ...(targets === undefined ? {} : { targets }) }
  })
}

type Values = Pick<CustomMapping, 'values' | 'components' | 'interpreted'>

/** Where the values of a parameter are; all of it is interpreted where a part cannot be compiled. */
function valuesOn(base: string, expression: string, components: readonly Component[], work: WorkBudget): Values {
  const isComposite = components.length > 0
  const interpreted: Values = {
    values: [],
    interpreted: true,
    ...(isComposite ? { components: components.map((each) => ({ ...each, values: {} })) } : {}),
  }
  const values = branchesOf(expression, base, work)
  if (values === undefined) return interpreted
  if (values.length === 0) throw refused(`The expression has no values on ${base}`, 'expression')
  if (!isComposite) return { values }
  const starts = [...new Set(values.map(([start]) => start))]
  const compiled: ComponentMapping[] = []
  for (const [i, component] of components.entries()) {
    const ways = starts.map((start) => [start, branchesOf(component.expression, start, work)] as const)
    if (ways.some(([, branches]) => branches === undefined)) return interpreted
    if (ways.every(([, branches]) => branches!.length === 0))
      throw refused(`The expression has no values on ${starts.join(', ')}`, `component[${i}]`)
    compiled.push({ ...component, values: Object.fromEntries(ways) as ComponentMapping['values'] })
  }
  return { values, components: compiled }
}

/** Composites start at elements, and only their components end at values. */
const endsAtExtension = ({ values, components }: Values): boolean =>
  components === undefined ? values.some(isExtension) : components.some((each) => Object.values(each.values).flat().some(isExtension))

function withValuesOfExtensions({ values, components, ...more }: Values, type: string): Values {
  const ofExtensions = (branches: readonly Branch[], of: string): readonly Branch[] => {
    const all = branches.flatMap((branch) => valuesOfExtension(branch, of))
    if (all.length > MOST_BRANCHES) throw tooManyWays()
    return all
  }
  if (components === undefined) return { values: ofExtensions(values, type), ...more }
  const changed = components.map((each) => ({
    ...each,
    values: Object.fromEntries(Object.entries(each.values).map(([start, branches]) => [start, ofExtensions(branches, each.type)])),
  }))
  return { values, components: changed, ...more }
}

const tooManyWays = (): FhirError => refused('The expression stands for too many paths to values', 'expression', 'too-costly')

/** Undefined: the compiler does not know what the expression is made of, or it is wrong. */
function branchesOf(expression: string, type: string, work: WorkBudget): readonly Branch[] | undefined {
  try {
    const branches = fhirpath().branches(expression, type, work)
    if (branches.length > MOST_BRANCHES) throw new TooCostly()
    return branches.map(withoutCompanions)
  } catch (error) {
    if (error instanceof TooCostly) throw tooManyWays()
    return undefined
  }
}

const refused = (text: string, element: string, code: IssueCode = 'invalid'): FhirError =>
  fhirError(422, code, text, `SearchParameter.${element}`)
