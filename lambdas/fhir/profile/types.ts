/** FHIR types and their elements, as R4 gives them. Names may be those of clients: `constructor` is no type. */
import { R4 } from '../definitions/r4.ts'
import type { ElementShape } from '../path/definitions.ts'
import { isResourceType } from '../resource-types.ts'

const NOTHING: Readonly<Record<string, ElementShape>> = {}

export const elementsOf = (type: string): Readonly<Record<string, ElementShape>> =>
  Object.hasOwn(R4.shapes, type) ? R4.shapes[type]!.elements : NOTHING

export function elementOf(type: string, name: string): ElementShape | undefined {
  const elements = elementsOf(type)
  return Object.hasOwn(elements, name) ? elements[name] : undefined
}

/** `Observation`, `component` → `Observation.component`; of a choice or what R4 does not have: ``. */
export function typeOfElement(type: string, name: string): string {
  const found = elementOf(type, name)
  if (found !== undefined) return found.type
  // Primitives have no shape.
  return name === 'extension' ? 'Extension' : ''
}

/** What types are kinds of, besides themselves. https://hl7.org/fhir/R4/datatypes.html */
const KINDS: ReadonlyMap<string, readonly string[]> = new Map([
  ['Quantity', ['Age', 'Count', 'Distance', 'Duration']],
  ['string', ['code', 'id', 'markdown']],
  ['uri', ['url', 'canonical', 'oid', 'uuid']],
  ['integer', ['positiveInt', 'unsignedInt']],
])

/** Resources that are no DomainResource. https://hl7.org/fhir/R4/resource.html */
export const PLAIN: ReadonlySet<string> = new Set(['Bundle', 'Binary', 'Parameters'])

/** `type`: empty where it is not known. */
export function isKindOf(type: string, about: string): boolean {
  if (type === about || type === '') return true
  if (about === 'Resource') return isResourceType(type)
  if (about === 'DomainResource') return isResourceType(type) && !PLAIN.has(type)
  if (about === 'Element' || about === 'BackboneElement') return !isResourceType(type)
  return KINDS.get(about)?.includes(type) === true
}
