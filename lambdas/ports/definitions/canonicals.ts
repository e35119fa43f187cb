/**
 * Which resources of a tenant are definitions, as its store has them at the moment.
 *
 * Guarantees
 * - `carrying` gives all resources of a type whose current version has this url, of commits that resolved before it is asked. Others may be
 *   among them, and some that are deleted. However many there are, a page holds a hundred at most.
 * - `state` is '' for tenants that never had a definition. Else it is another text after each commit of one, and none that another tenant has.
 */
import type { ResourceKey } from '../store/resource-store.ts'

/** https://hl7.org/fhir/R4/profiling.html, https://hl7.org/fhir/R4/terminology-module.html */
export const DEFINITION_TYPES = ['StructureDefinition', 'ValueSet', 'CodeSystem'] as const

export type DefinitionType = (typeof DEFINITION_TYPES)[number]

export const isDefinitionType = (type: string): type is DefinitionType => DEFINITION_TYPES.some((each) => each === type)

/** A resource that is to carry a canonical. */
export type AnnouncedCanonical = ResourceKey & { readonly type: DefinitionType; readonly url: string }

/** `mark`: another one each time it is announced; absent: it never was. */
export type NotedCanonical = AnnouncedCanonical & { readonly mark?: string }

/**
 * Where canonicals are noted beside the resources that carry them.
 *
 * Guarantees
 * - What was announced is found from then on, until it is forgotten.
 * - `forget` leaves what was announced again since it was `noted`.
 */
export interface CanonicalNotes {
  announce(announced: readonly AnnouncedCanonical[]): Promise<void>
  noted(announced: readonly AnnouncedCanonical[]): Promise<readonly NotedCanonical[]>
  forget(noted: readonly NotedCanonical[]): Promise<void>
}

export interface Canonicals {
  carrying(tenant: string, type: DefinitionType, url: string): AsyncIterable<readonly ResourceKey[]>
  state(tenant: string): Promise<string>
}
