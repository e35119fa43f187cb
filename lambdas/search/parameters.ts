/**
 * Registry of search parameters: the parameters of each type, and how each reads its values from a resource.
 * https://hl7.org/fhir/R4/searchparameter-registry.html
 */
import * as all from '../../search-mappings/all.ts'
import type { ComponentMapping, Mapping } from '../../search-mappings/mapping.ts'
import mappingsNumber from '../../search-mappings/number.json' with { type: 'json' }
import resourceTypes from '../fhir/definitions/resource-types.json' with { type: 'json' }
import { prepareBranches, type TypedValue } from '../fhir/path/steps.ts'
import type { Element } from '../fhir/resource.ts'
import type { ExpressionRunner } from '../ports/execution/expression-runner.ts'
import { type CustomEvaluation, customEvaluation, type OnFailure, usesEvaluationBudget } from './custom-evaluation.ts'
import type { CustomMapping } from './custom-mapping.ts'
import { evaluationBudgetOf } from './evaluation-budget.ts'
import { type EvaluationInput, InterpretedExpression } from './interpreted-values.ts'

export type { TypedValue } from '../fhir/path/steps.ts'
export type { OnFailure } from './custom-evaluation.ts'

export type ParameterType = 'token' | 'string' | 'date' | 'reference' | 'uri' | 'number' | 'quantity' | 'composite' | 'special'

export type SearchParameter = {
  readonly code: string
  /** Index field of the parameter, and prefix of its fields with a suffix such as `:code`. */
  readonly field: string
  readonly type: ParameterType
  readonly url: string
  readonly expression: string
  /** Definition from which it was created. Absent for a component of a composite. */
  readonly source?: Mapping | CustomMapping
  /** Resource types that its references may point to. Empty for parameters of another type. */
  readonly targets: readonly string[]
  /** FHIR types of its values. Empty for an interpreted parameter, because only an evaluation shows them. */
  readonly valueTypes: readonly string[]
  /** Components of a composite. Empty for parameters of another type. */
  readonly components: readonly CompositeComponent[]
  /**
   * Returns the values in the resource, in the order of the expression's branches. For a composite: the elements at which its components
   * start.
   */
  readonly values: (resource: Element, onFailure?: OnFailure) => readonly TypedValue[]
  /** Evaluates the parameter on many resources in advance. Present for custom parameters that may be slow or are interpreted. */
  readonly ahead?: (resources: readonly Element[], expressions: ExpressionRunner) => Promise<void>
}

export type CompositeComponent = {
  readonly code: string
  readonly field: string
  readonly type: ParameterType
  readonly url: string
  readonly expression: string
  readonly targets: readonly string[]
  /** Returns the values of the component, starting at an element (`base`) that `values` of the composite returned. */
  readonly values: (base: TypedValue, resource: Element, onFailure?: OnFailure) => readonly TypedValue[]
}

/**
 * Returns the parameters of a resource type: those of every resource (`_id` …), those of the type, then custom ones. `Resource`: only those
 * of every resource. Returns no R4 parameter for an unknown type.
 */
export const parametersOf = (type: string, custom: readonly CustomMapping[] = NO_CUSTOM): readonly SearchParameter[] =>
  custom.length === 0 ? registered(type).list : [...registered(type).list, ...customOf(custom, type)]

/**
 * Returns the parameter with this code. Prefers a custom one: it was defined before a release made its code a built-in parameter. Its field
 * is complete even in an index of an earlier release.
 */
export const findSearchParameter = (
  type: string,
  code: string,
  custom: readonly CustomMapping[] = NO_CUSTOM,
): SearchParameter | undefined =>
  (custom.length === 0 ? undefined : customOf(custom, type).find((each) => each.code === code)) ?? registered(type).byCode.get(code)

/** Whether the code is that of an R4 parameter on any type, or of one of these custom parameters. */
export function isParameterCode(code: string, custom: readonly CustomMapping[] = NO_CUSTOM): boolean {
  codes ??= new Set(Object.values(mappings).flatMap((list) => list.map((mapping) => mapping.code)))
  return codes.has(code) || custom.some((mapping) => mapping.code === code)
}

let codes: ReadonlySet<string> | undefined

/** Returns the R4 parameter with this canonical URL, or undefined. */
export const findR4Mapping = (url: string): Mapping | undefined => {
  for (const list of Object.values(mappings)) {
    const found = list.find((each) => each.url === url)
    if (found !== undefined) return found
  }
  return undefined
}

const NO_CUSTOM: readonly CustomMapping[] = []

const PREPARED = new WeakMap<readonly CustomMapping[], ReadonlyMap<string, readonly SearchParameter[]>>()

function customOf(custom: readonly CustomMapping[], type: string): readonly SearchParameter[] {
  let prepared = PREPARED.get(custom)
  if (prepared === undefined) {
    const byBase = Map.groupBy(custom, ({ base }) => base)
    prepared = new Map([...byBase].map(([base, list]) => [base, list.map(customParameterOf)]))
    PREPARED.set(custom, prepared)
  }
  return prepared.get(type) ?? []
}

/** Number of the registry. It changes when a parameter, or the location of its values in resources, changes. */
export const registryNumber: number = mappingsNumber.number

const mappings = all as unknown as Readonly<Record<string, readonly Mapping[]>>

type Registered = { readonly list: readonly SearchParameter[]; readonly byCode: ReadonlyMap<string, SearchParameter> }

const REGISTRY = new Map<string, Registered>()

const NONE: Registered = { list: [], byCode: new Map() }

function registered(type: string): Registered {
  const registered = REGISTRY.get(type)
  if (registered !== undefined) return registered
  if (!Object.hasOwn(mappings, type)) return NONE
  const list = [...mappingsOf('Resource'), ...(type === 'Resource' ? [] : mappingsOf(type))].map(parameterOf)
  const found = { list, byCode: new Map(list.map((parameter) => [parameter.code, parameter])) }
  REGISTRY.set(type, found)
  return found
}

const mappingsOf = (type: string): readonly Mapping[] => mappings[type]!

function parameterOf(mapping: Mapping): SearchParameter {
  const evaluate = prepareBranches(mapping.values)
  return Object.freeze({
    ...namesOf(mapping),
    source: mapping,
    valueTypes: valueTypesOf(mapping),
    components: (mapping.components ?? []).map(componentOf),
    values: (resource: Element) => evaluate(resource, resource),
  })
}

function componentOf(mapping: ComponentMapping): CompositeComponent {
  const evaluate = new Map(Object.entries(mapping.values).map(([start, branches]) => [start, prepareBranches(branches)]))
  return Object.freeze({
    ...namesOf(mapping),
    values: (base: TypedValue, resource: Element) => evaluate.get(base.type)?.(base.value, resource) ?? [],
  })
}

const CUSTOM_PARAMETERS = new WeakMap<CustomMapping, SearchParameter>()

/**
 * Returns the parameter of a mapping, cached by the mapping object. So the overruns of its expression still count when another parameter is
 * defined.
 */
function customParameterOf(mapping: CustomMapping): SearchParameter {
  const parameter = CUSTOM_PARAMETERS.get(mapping) ?? ownParameterOf(mapping)
  CUSTOM_PARAMETERS.set(mapping, parameter)
  return parameter
}

function ownParameterOf(mapping: CustomMapping): SearchParameter {
  const { tenant = '', base, code, field, expression, values, components = [], interpreted } = mapping
  const budget = evaluationBudgetOf(tenant)
  const own = customEvaluation(code, interpreted ? new InterpretedExpression(expression, base, budget) : values, budget)
  const parts = components.map((each) => ownComponentOf(each, mapping))
  const valuesOf = (resource: Element, onFailure?: OnFailure) => own.values({ key: resource, resource }, onFailure)
  const ahead = async (resources: readonly Element[], expressions: ExpressionRunner): Promise<void> => {
    await own.ahead?.(
      resources.map((resource) => ({ key: resource, resource })),
      expressions,
    )
    const bases = parts.length === 0 ? [] : resources.flatMap((resource) => valuesOf(resource).map((base) => ({ base, resource })))
    for (const part of parts) await part.ahead(bases, expressions)
  }
  const valueTypes = interpreted ? [] : valueTypesOf(mapping)
  return Object.freeze({
    ...namesOf(mapping),
    source: mapping,
    field,
    valueTypes,
    components: parts,
    values: valuesOf,
    ...(usesEvaluationBudget(mapping) ? { ahead } : {}),
  })
}

type Base = { readonly base: TypedValue; readonly resource: Element }

const inputOf = ({ base, resource }: Base): EvaluationInput => ({ key: base, resource, focus: base })

function ownComponentOf(
  mapping: ComponentMapping,
  { tenant = '', code, interpreted }: CustomMapping,
): CompositeComponent & { readonly ahead: (bases: readonly Base[], expressions: ExpressionRunner) => Promise<void> } {
  const evaluations = new Map<string, CustomEvaluation>()
  const budget = evaluationBudgetOf(tenant)
  const evaluationOn = (start: string): CustomEvaluation => {
    const existing = evaluations.get(start)
    if (existing !== undefined) return existing
    const expression = interpreted ? new InterpretedExpression(mapping.expression, start, budget) : (mapping.values[start] ?? [])
    const evaluation = customEvaluation(code, expression, budget)
    evaluations.set(start, evaluation)
    return evaluation
  }
  return Object.freeze({
    ...namesOf(mapping),
    values: (base: TypedValue, resource: Element, onFailure?: OnFailure) =>
      evaluationOn(base.type).values(inputOf({ base, resource }), onFailure),
    async ahead(bases: readonly Base[], expressions: ExpressionRunner) {
      for (const [start, group] of Map.groupBy(bases, ({ base }) => base.type))
        await evaluationOn(start).ahead?.(group.map(inputOf), expressions)
    },
  })
}

const namesOf = ({ code, type, url, expression, targets }: Omit<Mapping, 'values' | 'components'>) => ({
  code,
  field: code,
  type: type as ParameterType,
  url,
  expression,
  targets: targetsOf(targets),
})

const valueTypesOf = ({ values }: Mapping): readonly string[] => [...new Set(values.map(([type]) => type.split(' ')[0]!))]

const targetsOf = (targets: readonly string[] = []): readonly string[] => (targets[0] === '*' ? resourceTypes : targets)
