import { SEARCH_PARAMETER_STATE } from '../../fhir/own-extensions.ts'
import type { Resource } from '../../fhir/resource.ts'
import type { Definition } from '../../ports/search/index-status.ts'

/** The resource with its state as an extension: active when all its types are searched by. */
export function withState(resource: Resource, definitions: readonly Definition[]): Resource {
  const mine = definitions.filter(({ id }) => id === resource.id)
  if (mine.length === 0) return resource
  const state = mine.every(({ state }) => state === 'active') ? 'active' : 'building'
  const extension = Array.isArray(resource.extension) ? resource.extension : []
  return { ...resource, extension: [...extension, { url: SEARCH_PARAMETER_STATE, valueCode: state }] }
}
