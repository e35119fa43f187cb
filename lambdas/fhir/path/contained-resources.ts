/** Resources that are contained, by their ids. https://hl7.org/fhir/R4/references.html#contained */
import { isElement } from '../resource.ts'

/** Where there are more, they are looked through once, and not for each reference. */
const FEW = 8

const BY_ID = new WeakMap<readonly unknown[], ReadonlyMap<unknown, Readonly<Record<string, unknown>>>>()

/** The first with this id. */
export function findContained(id: string, contained: unknown): Readonly<Record<string, unknown>> | undefined {
  if (!Array.isArray(contained)) return undefined
  if (contained.length <= FEW) return contained.find((one) => isElement(one) && one.id === id)
  let byId = BY_ID.get(contained)
  if (byId === undefined) {
    // The first stays, which is written last.
    byId = new Map(contained.toReversed().flatMap((one) => (isElement(one) ? [[one.id, one] as const] : [])))
    BY_ID.set(contained, byId)
  }
  return byId.get(id)
}
