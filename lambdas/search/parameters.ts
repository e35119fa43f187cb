/** The registry of search parameters: what can be searched, and which values of a resource a parameter sees. https://hl7.org/fhir/R4/searchparameter-registry.html */
import { mappings } from '../../search-mappings/all.ts'
import type { ComponentMapping, Mapping } from '../../search-mappings/mapping.ts'
import resourceTypes from '../fhir/definitions/resource-types.json' with { type: 'json' }
import { prepare, type TypedValue } from '../fhir/path/steps.ts'
import type { Element } from '../fhir/resource.ts'

export type { TypedValue } from '../fhir/path/steps.ts'

export type ParameterType = 'token' | 'string' | 'date' | 'reference' | 'uri' | 'number' | 'quantity' | 'composite' | 'special'

export type SearchParameter = {
  readonly code: string
  readonly type: ParameterType
  readonly url: string
  readonly expression: string
  /** Resource types a reference may point to; empty for other types. */
  readonly targets: readonly string[]
  /** The parts of a composite; empty for other types. */
  readonly components: readonly Component[]
  /** The values in the resource, in the order of the expression's branches; of a composite, the elements its components start from. */
  readonly values: (resource: Element) => readonly TypedValue[]
}

export type Component = {
  readonly code: string
  readonly type: ParameterType
  readonly url: string
  readonly expression: string
  readonly targets: readonly string[]
  /** The values of the component at one element `values` of the composite gave. */
  readonly values: (base: TypedValue, resource: Element) => readonly TypedValue[]
}

/** All parameters of a resource type by code, those of every resource (`_id` …) first. `Resource`: these alone. Empty for an unknown type. */
export function parametersOf(type: string): readonly SearchParameter[] {
  return [...registered(type).values()]
}

export const searchParameter = (type: string, code: string): SearchParameter | undefined => registered(type).get(code)

type ByCode = ReadonlyMap<string, SearchParameter>

const REGISTRY = new Map<string, ByCode>()

function registered(type: string): ByCode {
  const known = REGISTRY.get(type)
  if (known !== undefined) return known
  if (!Object.hasOwn(mappings, type)) return NONE
  const own = (mappings[type] as readonly Mapping[]).map((mapping) => [mapping.code, parameterOf(mapping)] as const)
  const parameters: ByCode = new Map([...(type === 'Resource' ? [] : registered('Resource')), ...own])
  REGISTRY.set(type, parameters)
  return parameters
}

const NONE: ByCode = new Map()

function parameterOf({ code, type, url, expression, targets, values, components = [] }: Mapping): SearchParameter {
  const evaluate = lazily(() => prepare(values))
  return Object.freeze({
    code,
    type: type as ParameterType,
    url,
    expression,
    targets: targetsOf(targets),
    components: components.map(componentOf),
    values: (resource: Element) => evaluate()(resource, resource),
  })
}

function componentOf({ code, type, url, expression, targets, values }: ComponentMapping): Component {
  const evaluate = lazily(() => new Map(Object.entries(values).map(([start, branches]) => [start, prepare(branches)])))
  return Object.freeze({
    code,
    type: type as ParameterType,
    url,
    expression,
    targets: targetsOf(targets),
    values: (base: TypedValue, resource: Element) => evaluate().get(base.type)?.(base.value, resource) ?? [],
  })
}

const targetsOf = (targets: readonly string[] = []): readonly string[] => (targets[0] === '*' ? resourceTypes : targets)

function lazily<T extends object>(make: () => T): () => T {
  let made: T | undefined
  return () => (made ??= make())
}
