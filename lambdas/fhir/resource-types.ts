/** Resource types of R4. https://hl7.org/fhir/R4/resourcelist.html */
import types from './definitions/resource-types.json' with { type: 'json' }

export const resourceTypes: readonly string[] = types

const TYPES: ReadonlySet<string> = new Set(types)

export const isResourceType = (name: string): boolean => TYPES.has(name)
