/**
 * Custom search parameters, defined by SearchParameter resources. https://hl7.org/fhir/R4/searchparameter.html
 *
 * The index field of a parameter includes a hash of its meaning. So a changed definition gets a new field, and never reads values of the
 * old one. Tenants with the same definition share a field, because an index has a limited number of fields.
 */
import { createHash } from 'node:crypto'
import type { ComponentMapping } from '../../../search-mappings/mapping.ts'
import { R4 } from '../../fhir/definitions/r4.ts'
import { type FhirError, fhirError, type Issue, type IssueCode } from '../../fhir/outcome.ts'
import { type Branch, withoutCompanions } from '../../fhir/path/branch.ts'
import { type Compiler, createCompiler } from '../../fhir/path/compile.ts'
import { MAX_EXPRESSION_LENGTH } from '../../fhir/path/parse.ts'
import { TooCostly, type WorkBudget } from '../../fhir/path/work-budget.ts'
import { isElement, type Resource } from '../../fhir/resource.ts'
import { isResourceType, resourceTypes } from '../../fhir/resource-types.ts'
import type { ExpressionRunner } from '../../ports/execution/expression-runner.ts'
import type { RegisteredParameter } from '../../ports/search/index-status.ts'
import type { CustomMapping } from '../custom-mapping.ts'
import { findR4Mapping, findSearchParameter } from '../parameters.ts'
import { findExceededCapacity, isWithinTenantQuota, TENANT_QUOTA_TEXT } from './custom-parameter-limits.ts'
import { choiceNamesIn, isExtension, unionOperandsOf, valuesOfExtension } from './definition-expression.ts'
import { packageWarningsOf } from './package-warnings.ts'
import { registrationOf } from './registration.ts'
import { findExpressionProblem } from './usable-expression.ts'

/** Types that a custom parameter or a component of a composite may have. A custom parameter may also be a `composite`. */
const SINGLE: ReadonlySet<string> = new Set(['token', 'string', 'date', 'reference', 'uri', 'number', 'quantity'])

/** Compiler of FHIRPath, created for the first definition, because most processes compile none. */
let compiler: Compiler | undefined
function fhirpath(): Compiler {
  compiler ??= createCompiler(R4)
  return compiler
}

/**
 * Maximum work units to compile one definition on all its types: twice the need of a long expression on every type. Beyond it the
 * definition is answered 422.
 */
const MAX_COMPILE_WORK = 500_000

/** Maximum paths to values on one type. R4 expressions have some tens. A definition with more is answered 422. */
const MAX_BRANCHES = 10_000

const MAX_COMPONENTS = 16

/** Component of a composite before it is compiled. Its paths to values depend on the type of the composite. */
type Component = Omit<ComponentMapping, 'values'>

/**
 * Returns one mapping per type of an active SearchParameter. Returns none for an inactive one, and skips types on which R4 has a parameter
 * of this code.
 * Throws FhirError 422 with the reason, for example no expression, no values on a type, or an unsupported parameter type. Also throws it if
 * a component is neither an R4 parameter nor in `registered`. Does not check interpreted expressions: see checkDefinition.
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
  // Skip types on which R4 has a parameter of this code: a custom parameter never replaces it.
  const bases = basesOf(base).filter((each) => findSearchParameter(each, code) === undefined)
  const compiled = bases.map((base) => ({ base, values: valuesOn(base, expression, components, work) }))
  // Each rule is part of the hash. So values extracted before the rule existed stay in another field.
  const rules = [
    ...(compiled.some(({ values }) => endsAtExtension(values)) ? ['value'] : []),
    ...([expression, ...components.map((each) => each.expression)].some((each) => choiceNamesIn(each).length > 0) ? ['choice'] : []),
  ]
  const meaning = [address, type, expression, targets, ...(components.length === 0 ? [] : [components]), ...rules]
  const field = `${code}~${createHash('sha256').update(JSON.stringify(meaning)).digest('hex').slice(0, 8)}`
  const more = { code, type, url: address, expression, ...(type === 'reference' ? { targets } : {}) }
  return compiled.map(({ base, values }) => ({ tenant, base, field, ...more, ...withExtensionValues(values, type) }))
}

/**
 * Returns the operands of the top-level union that have no values on any type of the definition. Returns none if the expression is no
 * union.
 */
export function findEmptyOperands({ base, expression }: Resource): readonly string[] {
  if (typeof expression !== 'string') return []
  const operands = unionOperandsOf(expression)
  if (operands.length < 2) return []
  const bases = basesOf(base)
  const work = { left: MAX_COMPILE_WORK }
  return operands.filter((each) => bases.every((base) => branchesOf(each, base, work)?.length === 0))
}

/**
 * Write of a definition. `id`: id of its resource. `usable`: active parameters of the tenant, which may be components of a composite.
 * `registered`: reads the parameters of all tenants.
 */
export type DefinitionWrite = {
  readonly tenant: string
  readonly id: string
  readonly expressions: ExpressionRunner
  readonly usable?: readonly CustomMapping[] | undefined
  readonly registered: () => Promise<readonly RegisteredParameter[]>
}

/**
 * Checks a definition that a client writes, and returns warnings about its code. Throws FhirError 422 as customMappingsOf does, if the
 * tenant's quota or the capacity of all tenants is exceeded, or if an interpreted expression cannot be used. Tries an interpreted expression
 * on one type only.
 */
export async function checkDefinition(
  definition: Resource,
  { tenant, id, expressions, usable, registered }: DefinitionWrite,
): Promise<readonly Issue[]> {
  const mappings = customMappingsOf(definition, tenant, usable)
  if (mappings.length === 0) return []
  const all = await registered()
  checkCapacity(mappings, tenant, id, all)
  const first = mappings.find(({ interpreted }) => interpreted)
  if (first !== undefined) {
    const { base, expression, components = [] } = first
    await checkUsable(expressions, expression, base, 'expression')
    for (const [i, { expression }] of components.entries()) await checkUsable(expressions, expression, 'Element', `component[${i}]`)
  }
  return packageWarningsOf(mappings, all, usable ?? [])
}

function checkCapacity(wanted: readonly CustomMapping[], tenant: string, id: string, all: readonly RegisteredParameter[]): void {
  const isMine = (each: RegisteredParameter): boolean => each.tenant === tenant && each.id === id
  const { kept, added } = registrationOf(all.filter(isMine), wanted)
  const others = [...all.filter((each) => !isMine(each)), ...kept]
  const mappingsOf = (parameters: readonly RegisteredParameter[]) => parameters.map(({ mapping }) => mapping)
  if (!isWithinTenantQuota(added, mappingsOf(others.filter((each) => each.tenant === tenant))))
    throw refused(`The definition exceeds the tenant's quota of search parameters: ${TENANT_QUOTA_TEXT}`, 'base', 'too-costly')
  const exceeded = findExceededCapacity(added, mappingsOf(others))
  if (exceeded !== undefined) throw refused(exceeded, 'base', 'too-costly')
}

async function checkUsable(expressions: ExpressionRunner, expression: string, type: string, element: string): Promise<void> {
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

/**
 * Returns the types of an active definition on which R4 already has a parameter of this code. The definition has no effect on these types.
 * Returns `Resource` if R4 has the parameter on every type.
 */
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

/**
 * Compiles a parameter on one type. If any of its expressions cannot be compiled, the whole parameter is interpreted. Throws FhirError 422
 * if it has no values on the type.
 */
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

/** Whether a path ends at an extension. For a composite, only the paths of its components count. */
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

/**
 * Returns the paths to the values on one type. Returns undefined if the expression is invalid or the compiler does not support it. Throws
 * FhirError 422 if it exceeds a limit.
 */
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
