/**
 * Adds the distance of a Location from the position in the search parameter `near`.
 * https://hl7.org/fhir/R4/extension-location-distance.html
 */
import { parseJsonBytes } from '../../fhir/json.ts'
import { isElement } from '../../fhir/resource.ts'
import { metresBetween } from '../../ports/search/plan.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import type { SearchRequest } from '../../search/query/query.ts'
import { numberOf } from '../../search/types/number.ts'
import { circleOf } from '../../search/types/special.ts'

const DISTANCE = 'http://hl7.org/fhir/StructureDefinition/location-distance'

/**
 * Returns the function that creates the distance extension of a match. It uses the first `near` parameter. It returns no extension without
 * `near`, or if that parameter lists several positions.
 */
export function distanceExtensionsOf({ used }: SearchRequest): (version: ResourceVersion) => readonly object[] {
  const [, value] = used.find(([name]) => name === 'near') ?? []
  const place = value === undefined ? undefined : circleOf(value)
  if (place === undefined) return () => []
  return ({ type, body }) => {
    const { position } = type === 'Location' ? (parseJsonBytes(body) as { readonly position?: unknown }) : {}
    if (!isElement(position)) return []
    const metres = metresBetween([numberOf(position.latitude) ?? 0, numberOf(position.longitude) ?? 0], [place.latitude, place.longitude])
    const valueDistance = { value: Math.round(metres) / 1000, unit: 'km', system: 'http://unitsofmeasure.org', code: 'km' }
    return [{ url: DISTANCE, valueDistance }]
  }
}
