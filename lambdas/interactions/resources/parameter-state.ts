import { PARAMETER_STATE_EXTENSION } from '../../fhir/own-extensions.ts'
import type { Resource } from '../../fhir/resource.ts'
import type { CustomParameterStatus } from '../../ports/search/index-status.ts'

/**
 * Returns the SearchParameter with its state as an extension: `active` if searches use it on all its types, otherwise `building`. Returns
 * it unchanged if it defines no custom parameter.
 */
export function withParameterState(resource: Resource, definitions: readonly CustomParameterStatus[]): Resource {
  const mine = definitions.filter(({ id }) => id === resource.id)
  if (mine.length === 0) return resource
  const state = mine.every(({ state }) => state === 'active') ? 'active' : 'building'
  const extension = Array.isArray(resource.extension) ? resource.extension : []
  return { ...resource, extension: [...extension, { url: PARAMETER_STATE_EXTENSION, valueCode: state }] }
}
