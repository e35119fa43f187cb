/** FHIR types of elements, as R4 gives them. */
import { R4 } from '../definitions/r4.ts'

/** `Observation`, `component` → `Observation.component`; of a choice or what R4 does not have: ``. */
export function typeOfElement(type: string, name: string): string {
  const found = R4.shapes[type]?.elements[name]
  if (found !== undefined) return found.type
  // Primitives have no shape.
  return name === 'extension' ? 'Extension' : ''
}
