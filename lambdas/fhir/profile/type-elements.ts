/** R4 types and their elements. Names may come from clients, so inherited properties such as `constructor` are ignored. */
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

/**
 * Returns the type of an element: `Observation`, `component` → `Observation.component`. Returns an empty text for a choice or an unknown
 * element.
 */
export function typeOfElement(type: string, name: string): string {
  const found = elementOf(type, name)
  if (found !== undefined) return found.type
  // Primitives have no shape, but they have extensions.
  return name === 'extension' ? 'Extension' : ''
}

/** Data type → its base type, if that is not Element. https://hl7.org/fhir/R4/datatypes.html */
const KINDS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    Quantity: ['Age', 'Count', 'Distance', 'Duration'],
    string: ['code', 'id', 'markdown'],
    uri: ['url', 'canonical', 'oid', 'uuid'],
    integer: ['positiveInt', 'unsignedInt'],
    BackboneElement: ['Timing', 'Dosage', 'ElementDefinition', 'MarketingStatus', 'Population', 'ProdCharacteristic', 'ProductShelfLife'],
  }).flatMap(([base, types]) => types.map((type) => [type, base])),
)

/** Resource types that are not a DomainResource. https://hl7.org/fhir/R4/resource.html */
export const NON_DOMAIN_RESOURCES: ReadonlySet<string> = new Set(['Bundle', 'Binary', 'Parameters'])

/**
 * Returns the base types of a type, without the type itself. `type`: type name, or path of a backbone element, such as `Patient.contact`.
 */
export function baseTypesOf(type: string): readonly string[] {
  if (isResourceType(type)) return NON_DOMAIN_RESOURCES.has(type) ? ['Resource'] : ['DomainResource', 'Resource']
  const base = KINDS.get(type) ?? (isResourceType(type.split('.')[0]!) ? 'BackboneElement' : undefined)
  return base === undefined ? ['Element'] : [base, 'Element']
}

/** Whether `type` is the type `about` or derives from it. True for an empty `type`, which stands for an unknown type. */
export const isKindOf = (type: string, about: string): boolean => type === about || type === '' || baseTypesOf(type).includes(about)
