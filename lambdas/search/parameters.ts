/** The registry of search parameters: what can be searched, and which values of a resource a parameter sees. https://hl7.org/fhir/R4/searchparameter-registry.html */
import type { Element } from '../fhir/resource.ts'

export type ParameterType = 'token' | 'string' | 'date' | 'reference' | 'uri' | 'number' | 'quantity' | 'composite' | 'special'

/**
 * A value with its FHIR type (`CodeableConcept`, `Period`, `code` …; a backbone element has its path: `Observation.component`).
 * `system`: the code system of a `code` whose required binding takes codes of one system only.
 */
export type TypedValue = { readonly type: string; readonly value: unknown; readonly system?: string }

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

/** All parameters of a resource type, those of every resource (`_id` …) included, by code. Empty for an unknown type. */
export function parametersOf(type: string): readonly SearchParameter[] {
  return REGISTRY.get(type) ?? []
}

export const searchParameter = (type: string, code: string): SearchParameter | undefined => parametersOf(type).find((parameter) => parameter.code === code)

/** Changes when a parameter, or what it extracts, changes. */
export const registryHash: string = ''

const REGISTRY = new Map<string, readonly SearchParameter[]>()
