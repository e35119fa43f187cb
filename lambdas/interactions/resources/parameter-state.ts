import type { Resource } from '../../fhir/resource.ts'
import type { Definition } from '../../ports/search/index-status.ts'

/** Extension of a SearchParameter, relative to the base URL: whether searches use the parameter already. */
const STATE = 'StructureDefinition/search-parameter-state'

/** The resource with its state as an extension: active when all its types are searched by. */
export function withState(resource: Resource, definitions: readonly Definition[], baseUrl: string): Resource {
  const mine = definitions.filter(({ id }) => id === resource.id)
  if (mine.length === 0) return resource
  const state = mine.every(({ state }) => state === 'active') ? 'active' : 'building'
  const extension = Array.isArray(resource.extension) ? resource.extension : []
  return { ...resource, extension: [...extension, { url: `${baseUrl}/${STATE}`, valueCode: state }] }
}
