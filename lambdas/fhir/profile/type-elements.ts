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

/** What types are kinds of, besides Element. https://hl7.org/fhir/R4/datatypes.html */
const KINDS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    Quantity: ['Age', 'Count', 'Distance', 'Duration'],
    string: ['code', 'id', 'markdown'],
    uri: ['url', 'canonical', 'oid', 'uuid'],
    integer: ['positiveInt', 'unsignedInt'],
    BackboneElement: ['Timing', 'Dosage', 'ElementDefinition', 'MarketingStatus', 'Population', 'ProdCharacteristic', 'ProductShelfLife'],
  }).flatMap(([base, types]) => types.map((type) => [type, base])),
)

/** Resources that are no DomainResource. https://hl7.org/fhir/R4/resource.html */
export const NON_DOMAIN_RESOURCES: ReadonlySet<string> = new Set(['Bundle', 'Binary', 'Parameters'])

/** What a type is a kind of, besides itself. `type`: `Patient.contact` is one, too. */
export function baseTypesOf(type: string): readonly string[] {
  if (isResourceType(type)) return NON_DOMAIN_RESOURCES.has(type) ? ['Resource'] : ['DomainResource', 'Resource']
  const base = KINDS.get(type) ?? (isResourceType(type.split('.')[0]!) ? 'BackboneElement' : undefined)
  return base === undefined ? ['Element'] : [base, 'Element']
}

/** `type`: empty where it is not known. */
export const isKindOf = (type: string, about: string): boolean => type === about || type === '' || baseTypesOf(type).includes(about)
