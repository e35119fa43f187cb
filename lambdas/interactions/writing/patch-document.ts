/** Patch documents: JSON Patch or FHIRPath Patch. https://hl7.org/fhir/R4/http.html#patch */
import { compileFhirPathPatch, type FhirPathPatchOperation, readFhirPathPatch } from '../../fhir/fhirpath-patch.ts'
import { applyJsonPatch, type JsonPatchOperation, readJsonPatch } from '../../fhir/json-patch.ts'
import { fhirError } from '../../fhir/outcome.ts'
import type { WorkBudget } from '../../fhir/path/work-budget.ts'
import { isElement, type Resource } from '../../fhir/resource.ts'

/** Operations of a patch, independent of the resource that it is applied to. */
export type PatchDocument =
  | { readonly kind: 'json'; readonly operations: readonly JsonPatchOperation[] }
  | { readonly kind: 'fhirpath'; readonly operations: readonly FhirPathPatchOperation[] }

/** Parses a patch document. Throws FhirError 400 with the location of a malformed part. */
export function readPatch(document: unknown): PatchDocument {
  if (Array.isArray(document)) return { kind: 'json', operations: readJsonPatch(document) }
  if (isElement(document) && document.resourceType === 'Parameters') return { kind: 'fhirpath', operations: readFhirPathPatch(document) }
  throw fhirError(400, 'structure', 'A patch is a JSON Patch (an array of operations) or a FHIRPath Patch (a Parameters resource)')
}

/** Returns the function that applies the patch. It may modify its argument; use its result. */
export async function patchFunctionOf(patch: PatchDocument): Promise<(resource: Resource, work: WorkBudget) => unknown> {
  if (patch.kind === 'fhirpath') return compileFhirPathPatch(patch.operations)
  return (resource, work) => applyJsonPatch(resource, patch.operations, work)
}
