/** Lookup of contained resources by id. https://hl7.org/fhir/R4/references.html#contained */
import { isElement } from '../resource.ts'

/** Maximum length of a list of contained resources that is searched for each reference. Longer lists are indexed by id once. */
const FEW = 8

const INDICES = new WeakMap<readonly unknown[], ReadonlyMap<unknown, Readonly<Record<string, unknown>>>>()

/** Returns the first contained resource with this id, or undefined. */
export function findContained(id: string, contained: unknown): Readonly<Record<string, unknown>> | undefined {
  if (!Array.isArray(contained)) return undefined
  if (contained.length <= FEW) return contained.find((one) => isElement(one) && one.id === id)
  let resources = INDICES.get(contained)
  if (resources === undefined) {
    // Reverse the list: the last entry for an id wins, and the first resource must be found.
    resources = new Map(contained.toReversed().flatMap((one) => (isElement(one) ? [[one.id, one] as const] : [])))
    INDICES.set(contained, resources)
  }
  return resources.get(id)
}
