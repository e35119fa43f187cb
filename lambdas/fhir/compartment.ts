/** Compartments of a resource. https://hl7.org/fhir/R4/compartmentdefinition.html */
import definitions from './definitions/compartments.json' with { type: 'json' }
import { type BaseUrls, RELATIVE_REFERENCE, toRelative } from './references.ts'
import type { Element, Resource } from './resource.ts'
import { resourceTypes } from './resource-types.ts'

/**
 * Paths of the references that put a resource into a compartment, by resource type. `compartments`: types of the compartments that a
 * reference at this path can name.
 */
export type CompartmentPaths = Readonly<
  Record<string, readonly { readonly path: readonly string[]; readonly compartments: readonly string[] }[]>
>

/**
 * Returns the compartments of a resource (`Patient/1`, `Encounter/2`), each once. A Patient, Encounter, Device, Practitioner or
 * RelatedPerson with an id is in its own compartment too. References to other servers are ignored.
 */
export function compartmentsOf(resource: Resource, bases: BaseUrls = {}): readonly string[] {
  const found: string[] = []
  if (COMPARTMENT_TYPES.has(resource.resourceType) && resource.id !== undefined) found.push(`${resource.resourceType}/${resource.id}`)
  const add: Add = (reference, compartments) => {
    const name = nameIn(toRelative(reference, bases), compartments)
    if (name !== undefined) found.push(name)
  }
  for (const { path, compartments } of PATHS.get(resource.resourceType) ?? []) collect(resource, path, 0, compartments, add)
  // Create a Set only for long lists: most resources are in two or three compartments, but a Group may be in thousands.
  return found.length <= 4 ? found.filter((key, i) => found.indexOf(key) === i) : [...new Set(found)]
}

/** Resource types that define a compartment. */
export const COMPARTMENT_TYPES: ReadonlySet<string> = new Set(['Device', 'Encounter', 'Patient', 'Practitioner', 'RelatedPerson'])

/** Resource types that can belong to a patient compartment, including Patient. */
export const patientCompartmentTypes: ReadonlySet<string> = new Set([
  'Patient',
  ...Object.entries(definitions as CompartmentPaths)
    .filter(([, paths]) => paths.some(({ compartments }) => compartments.includes('Patient')))
    .map(([type]) => type),
])

/**
 * Resource types of a patient's data: those of the patient compartment, and Device. A Device names its patient but is in no patient
 * compartment.
 */
export const patientDataTypes: readonly string[] = resourceTypes.filter((type) => patientCompartmentTypes.has(type) || type === 'Device')

const PATHS = new Map(Object.entries(definitions as CompartmentPaths))

type Add = (reference: string, compartments: readonly string[]) => void

function collect(focus: unknown, path: readonly string[], at: number, compartments: readonly string[], add: Add): void {
  if (Array.isArray(focus)) for (const item of focus) collect(item, path, at, compartments, add)
  else if (typeof focus === 'object' && focus !== null) {
    if (at < path.length) return collect((focus as Element)[path[at]!], path, at + 1, compartments, add)
    const { reference } = focus as Element
    if (typeof reference === 'string') add(reference, compartments)
  }
}

/**
 * Returns the target of a relative reference as `Type/id`, or undefined if its type is none of the compartments. Reference search
 * parameters use the same pattern.
 */
function nameIn(reference: string, compartments: readonly string[]): string | undefined {
  const [, type = '', id] = RELATIVE_REFERENCE.exec(reference) ?? []
  return compartments.includes(type) ? `${type}/${id}` : undefined
}
