/**
 * Custom search parameters, defined by SearchParameter resources. https://hl7.org/fhir/R4/searchparameter.html
 *
 * The field name of a parameter includes a hash of its meaning. So documents extracted under another meaning of the code stay separate.
 * Tenants with the same definition share a field, because the fields of an index are limited.
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

/** Parameter types that searches support, alone and as components. */
const SINGLE: ReadonlySet<string> = new Set(['token', 'string', 'date', 'reference', 'uri', 'number', 'quantity'])

/** Compiler, created for the first definition. Loading R4 as data takes time, and most searches do not need it. */
let compiler: Compiler | undefined
function fhirpath(): Compiler {
  compiler ??= createCompiler(R4)
  return compiler
}

/** Maximum work units to compile one definition on all its types: twice the need of a long expression on every type. */
const MAX_COMPILE_WORK = 500_000

/** Maximum paths to values on one type. The expressions of R4 have some tens. */
const MAX_BRANCHES = 10_000

const MAX_COMPONENTS = 16

/** Component of a composite: its own definition. The paths to its values depend on the composite. */
type Component = Omit<ComponentMapping, 'values'>

/**
 * Returns one mapping for each type of an active SearchParameter. Returns none if it is inactive, or for a type with an R4 parameter of
 * this code.
 * Throws FhirError 422 with the reason, for example no expression, no values on the type, or an unsupported parameter type.
 * Also for a component that is neither an R4 parameter nor one of `registered`. An interpreted expression is not checked here, but in
 * checkDefinition.
 */
export function customMappingsOf(
  definition: Resource,
  tenant: string,
  registered: readonly CustomMapping[] = [],
): readonly CustomMapping[] {
  const { status, code, type, url, base, expression, target, component } = definition as Readonly<Record<string, unknown>>
  if (status !== 'active') return []
  if (typeof code !== 'string' || !/^[A-Za-z_][\w-]{0,63}$/.test(code))
    throw refused('A code is a letter, then letters, digits, - and _', 'code')
  if (typeof type !== 'string' || !(SINGLE.has(type) || type === 'composite'))
    throw refused(`Parameters of type ${String(type)} cannot be added`, 'type')
  checkText(expression, 'expression')
  const targets = Array.isArray(target) ? target.map(String) : ['*']
  const components = type === 'composite' ? componentsOf(component, registered) : []
  const address = typeof url === 'string' ? url : ''
  const work = { left: MAX_COMPILE_WORK }
  // A custom parameter never replaces a parameter of R4.
  const bases = basesOf(base).filter((each) => findSearchParameter(each, code) === undefined)
  const compiled = bases.map((base) => ({ base, values: valuesOn(base, expression, components, work) }))
  // A rule changes the field name, so that documents from before the rule are created again.
  const rules = [
    ...(compiled.some(({ values }) => endsAtExtension(values)) ? ['value'] : []),
    ...([expression, ...components.map((each) => each.expression)].some((each) => choiceNamesIn(each).length > 0) ? ['choice'] : []),
  ]
  const meaning = [address, type, expression, targets, ...(components.length === 0 ? [] : [components]), ...rules]
  const field = `${code}~${createHash('sha256').update(JSON.stringify(meaning)).digest('hex').slice(0, 8)}`
  const more = { code, type, url: address, expression, ...(type === 'reference' ? { targets } : {}) }
  return compiled.map(({ base, values }) => ({ tenant, base, field, ...more, ...withExtensionValues(values, type) }))
}

/** Returns the operands of the union that have no values on any type of the definition. */
export function findEmptyOperands({ base, expression }: Resource): readonly string[] {
  if (typeof expression !== 'string') return []
  const operands = unionOperandsOf(expression)
  if (operands.length < 2) return []
  const bases = basesOf(base)
  const work = { left: MAX_COMPILE_WORK }
  return operands.filter((each) => bases.every((base) => branchesOf(each, base, work)?.length === 0))
}

/**
 * Checks a definition. Throws FhirError 422 as customMappingsOf does, or if the tenant's quota is exceeded. It also throws if an
 * interpreted expression is unusable. One type is enough for that check.
 */
export async function checkDefinition(
  definition: Resource,
  tenant: string,
  expressions: ExpressionRunner,
  registered: readonly CustomMapping[] = [],
): Promise<void> {
  const mappings = customMappingsOf(definition, tenant, registered)
  const others = registered.filter(({ url }) => url !== definition.url)
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

/** Returns the types on which R4 has a parameter of this code, which stays in effect there. Returns Resource if R4 has it on every type. */
export function typesWithR4Parameter({ status, code, base }: Resource): readonly string[] {
  if (status !== 'active' || typeof code !== 'string' || !Array.isArray(base)) return []
  const types = base.some(isCommonBase) ? resourceTypes : base.map(String).filter(isResourceType)
  const found = types.filter((type) => findSearchParameter(type, code) !== undefined)
  return found.length === resourceTypes.length ? ['Resource'] : found
}

const isCommonBase = (base: unknown): boolean => base === 'Resource' || base === 'DomainResource'

function basesOf(base: unknown): readonly string[] {
  const bases = Array.isArray(base) ? base.map(String) : []
  const every = bases.some(isCommonBase)
  const unknown = bases.find((each) => !isResourceType(each) && !isCommonBase(each))
  if (bases.length === 0 || unknown !== undefined) throw refused(`${unknown ?? 'Nothing'} is no resource type to search on`, 'base')
  return every ? resourceTypes : [...new Set(bases)]
}

function componentsOf(component: unknown, registered: readonly CustomMapping[]): readonly Component[] {
  if (!Array.isArray(component) || component.length === 0) throw refused('A composite parameter has components', 'component')
  if (component.length > MAX_COMPONENTS)
    throw refused(`A composite parameter has at most ${MAX_COMPONENTS} components`, 'component', 'too-long')
  return component.filter(isElement).map(({ definition, expression }, i) => {
    checkText(expression, `component[${i}]`)
    const url = String(definition).replace(/\|.*$/, '')
    const found = findR4Mapping(url) ?? registered.find((each) => each.url === url)
    if (found === undefined)
      throw refused(`${url.slice(0, 200)} is neither a parameter of R4 nor an active one of this server`, `component[${i}]`)
    const { code, type, targets } = found
    if (!SINGLE.has(type)) throw refused(`A parameter of type ${type} cannot be a component`, `component[${i}]`)
    return { code, type, url, expression, ...(targets === undefined ? {} : { targets }) }
  })
}

type Values = Pick<CustomMapping, 'values' | 'components' | 'interpreted'>

/** Returns the paths to the values of a parameter. The whole parameter is interpreted if a part of it cannot be compiled. */
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
    const branchesByStart = starts.map((start) => [start, branchesOf(component.expression, start, work)] as const)
    if (branchesByStart.some(([, branches]) => branches === undefined)) return interpreted
    if (branchesByStart.every(([, branches]) => branches!.length === 0))
      throw refused(`The expression has no values on ${starts.join(', ')}`, `component[${i}]`)
    compiled.push({ ...component, values: Object.fromEntries(branchesByStart) as ComponentMapping['values'] })
  }
  return { values, components: compiled }
}

/** Whether a value is an extension. A composite itself ends at elements, so only its components count. */
const endsAtExtension = ({ values, components }: Values): boolean =>
  components === undefined ? values.some(isExtension) : components.some((each) => Object.values(each.values).flat().some(isExtension))

function withExtensionValues({ values, components, ...more }: Values, type: string): Values {
  const extensionValues = (branches: readonly Branch[], parameterType: string): readonly Branch[] => {
    const all = branches.flatMap((branch) => valuesOfExtension(branch, parameterType))
    if (all.length > MAX_BRANCHES) throw tooManyBranches()
    return all
  }
  if (components === undefined) return { values: extensionValues(values, type), ...more }
  const changed = components.map((each) => ({
    ...each,
    values: Object.fromEntries(Object.entries(each.values).map(([start, branches]) => [start, extensionValues(branches, each.type)])),
  }))
  return { values, components: changed, ...more }
}

const tooManyBranches = (): FhirError => refused('The expression stands for too many paths to values', 'expression', 'too-costly')

/** Returns undefined if the expression is invalid or the compiler does not support it. */
function branchesOf(expression: string, type: string, work: WorkBudget): readonly Branch[] | undefined {
  try {
    const branches = fhirpath().branches(expression, type, work)
    if (branches.length > MAX_BRANCHES) throw new TooCostly()
    return branches.map(withoutCompanions)
  } catch (error) {
    if (error instanceof TooCostly) throw tooManyBranches()
    return undefined
  }
}

const refused = (text: string, element: string, code: IssueCode = 'invalid'): FhirError =>
  fhirError(422, code, text, `SearchParameter.${element}`)
