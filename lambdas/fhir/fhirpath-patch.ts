/** FHIRPath Patch. https://hl7.org/fhir/R4/fhirpatch.html */
import { fhirError } from './outcome.ts'
import type { Element, Resource } from './resource.ts'

export async function fhirPathPatch(_resource: Resource, _document: Element): Promise<unknown> {
  throw fhirError(501, 'not-supported', 'FHIRPath Patch')
}
