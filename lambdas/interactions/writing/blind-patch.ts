/**
 * Patches by callers that may change a resource but not read it. Such a patch may set values. It must not depend on existing ones, because
 * its result would disclose them.
 */
import { FhirError, fhirError } from '../../fhir/outcome.ts'
import { replaceReferences } from '../../fhir/references.ts'
import type { Resource } from '../../fhir/resource.ts'
import type { ResourceKey } from '../../ports/store/resource-store.ts'
import { insufficientScope } from '../forbidden.ts'
import type { FhirRequest } from '../interaction.ts'
import type { PatchDocument } from './patch-document.ts'

/** Mask for existing references. `hide` replaces them while the references of the patch are resolved. `show` restores them. */
export type ReferenceMask = { readonly hide: (resource: Resource) => Resource; readonly show: (resource: Resource) => Resource }

export const noReferenceMask: ReferenceMask = { hide: (resource) => resource, show: (resource) => resource }

/** Applies the patch. Throws FhirError 403 if it depends on existing values. Every 422 has the same text, to reveal none of them. */
export async function runBlindPatch<T>(
  { access }: FhirRequest,
  { type }: ResourceKey,
  patch: PatchDocument,
  apply: () => Promise<T>,
): Promise<T> {
  if (looks(patch)) throw insufficientScope(access, type, 'r')
  try {
    return await apply()
  } catch (error) {
    if (!(error instanceof FhirError) || error.status !== 422) throw error
    throw fhirError(422, 'processing', 'The patch does not apply, or what it would make is not valid')
  }
}

/** Whether the result of the patch depends on existing values. A dependency on the mere existence of an element is allowed. */
const looks = (patch: PatchDocument): boolean =>
  patch.kind === 'json' ? patch.operations.some(({ op }) => LOOKING.has(op)) : patch.operations.some(({ path }) => !PLAIN.test(path))

const LOOKING: ReadonlySet<string> = new Set(['test', 'copy', 'move'])

/** Matches a FHIRPath that consists of elements and indexes only, without functions or operators. */
const PLAIN = /^\s*\w+(?:\.\w+|\[\d+\])*\s*$/

/** Creates the mask. `secret`: an unguessable text, so that no fullUrl can equal a hidden reference. */
export function referenceMask(secret: string): ReferenceMask {
  const hidden: string[] = []
  const mark = `urn:hidden:${secret}:`
  return {
    hide: (resource) => replaceReferences(resource, (reference) => `${mark}${hidden.push(reference) - 1}`),
    show: (resource) =>
      replaceReferences(resource, (text) => (text.startsWith(mark) ? hidden[Number(text.slice(mark.length))] : undefined)),
  }
}
