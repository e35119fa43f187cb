/** Lookup of contained resources by id. https://hl7.org/fhir/R4/references.html#contained */
import { isElement } from '../resource.ts'

/** Maximum contained resources that are searched for each reference. Longer lists are indexed by id once. */
const FEW = 8

const BY_ID = new WeakMap<readonly unknown[], ReadonlyMap<unknown, Readonly<Record<string, unknown>>>>()

/** Returns the first contained resource with this id. */
export function findContained(id: string, contained: unknown): Readonly<Record<string, unknown>> | undefined {
  if (!Array.isArray(contained)) return undefined
  if (contained.length <= FEW) return contained.find((one) => isElement(one) && one.id === id)
  let byId = BY_ID.get(contained)
  if (byId === undefined) {
    // Reverse the list: the last entry for an id wins, and the first resource must be found.
    byId = new Map(contained.toReversed().flatMap((one) => (isElement(one) ? [[one.id, one] as const] : [])))
    BY_ID.set(contained, byId)
  }
  return byId.get(id)
}
