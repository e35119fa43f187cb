/**
 * Definitions of a tenant by canonical URL. `carrying` reads the store at the call; `state` may be cached.
 *
 * Guarantees
 * - `carrying` yields every resource of a type whose current version has this url, if its commit resolved before the call. It may also
 *   yield other resources, and deleted ones. A page holds at most 100 keys.
 * - `state` returns '' for a tenant that never had a definition. Otherwise it returns a text that changes with each commit of a definition.
 *   No two tenants have the same text, except ''. An adapter with a cache may return the previous text until the cache expires.
 */
import type { ResourceKey } from '../store/resource-store.ts'

/**
 * Resource types of definitions that take part in validation. https://hl7.org/fhir/R4/profiling.html,
 * https://hl7.org/fhir/R4/terminology-module.html
 */
export const DEFINITION_TYPES = ['StructureDefinition', 'ValueSet', 'CodeSystem'] as const

export type DefinitionType = (typeof DEFINITION_TYPES)[number]

export const isDefinitionType = (type: string): type is DefinitionType => DEFINITION_TYPES.some((each) => each === type)

/** Resource that a commit will store with a canonical URL. */
export type AnnouncedCanonical = ResourceKey & { readonly type: DefinitionType; readonly url: string }

/** Note about a resource and its canonical URL. `mark`: random text that changes with each announcement; absent if there is no note. */
export type NotedCanonical = AnnouncedCanonical & { readonly mark?: string }

/**
 * Notes about which resources have which canonical URL, stored beside the resources.
 *
 * Guarantees
 * - An announced canonical URL is found from then on, until `forget` removes its note.
 * - `forget` keeps a note that was announced again after `noted` returned it.
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
