import { fhirError } from '../../fhir/outcome.ts'
import type { Resource } from '../../fhir/resource.ts'
import type { FhirRequest } from '../interaction.ts'

/** Returns the resource in the body of the request. Throws FhirError 400 if there is none, or if its type differs from that in the URL. */
export function bodyOf({ resource, type }: Pick<FhirRequest, 'resource' | 'type'>): Resource {
  if (resource === undefined) throw fhirError(400, 'required', 'The request needs a resource as its body')
  if (type !== undefined && resource.resourceType !== type)
    throw fhirError(400, 'invalid', `The URL names the type ${type}, the body is of type ${resource.resourceType}`, 'resourceType')
  return resource
}
