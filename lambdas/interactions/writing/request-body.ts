/** The resource a request carries. */
import { fhirError } from '../../fhir/outcome.ts'
import type { Resource } from '../../fhir/resource.ts'
import type { FhirRequest } from '../interaction.ts'

/** FhirError 400 where there is none, or one of another type than the URL names. */
export function bodyOf({ resource, type }: Pick<FhirRequest, 'resource' | 'type'>): Resource {
  if (resource === undefined) throw fhirError(400, 'required', 'The request needs a resource as its body')
  if (type !== undefined && resource.resourceType !== type)
    throw fhirError(400, 'invalid', `The URL names the type ${type}, the body is of type ${resource.resourceType}`, 'resourceType')
  return resource
}
