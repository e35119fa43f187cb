/** Patches of who may change what it may not see: they say what is to be, and ask nothing about what is. */
import { FhirError, fhirError } from '../../fhir/outcome.ts'
import { replaceReferences } from '../../fhir/references.ts'
import type { Resource } from '../../fhir/resource.ts'
import type { ResourceKey } from '../../ports/store/resource-store.ts'
import { insufficientScope } from '../forbidden.ts'
import type { FhirRequest } from '../interaction.ts'
import type { PatchDocument } from './patch-document.ts'

/** `hide` takes away the references that are there while those of the patch are resolved; `show` gives them back. */
export type ReferenceMask = { readonly hide: (resource: Resource) => Resource; readonly show: (resource: Resource) => Resource }

export const noReferenceMask: ReferenceMask = { hide: (resource) => resource, show: (resource) => resource }

/** FhirError 403 for a patch that looks at what is there; every 422 is the same one, whatever is there. */
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

/** Whether what it does depends on a value that is there, and not only on whether there is one. */
const looks = (patch: PatchDocument): boolean =>
  patch.kind === 'json' ? patch.operations.some(({ op }) => LOOKING.has(op)) : patch.operations.some(({ path }) => !PLAIN.test(path))

const LOOKING: ReadonlySet<string> = new Set(['test', 'copy', 'move'])

/** A FHIRPath of elements and indices, without functions or operators. */
const PLAIN = /^\s*\w+(?:\.\w+|\[\d+\])*\s*$/

/** `secret`: what nobody can guess, so that no fullUrl says it. */
export function referenceMask(secret: string): ReferenceMask {
  const hidden: string[] = []
  const mark = `urn:hidden:${secret}:`
  return {
    hide: (resource) => replaceReferences(resource, (reference) => `${mark}${hidden.push(reference) - 1}`),
    show: (resource) =>
      replaceReferences(resource, (text) => (text.startsWith(mark) ? hidden[Number(text.slice(mark.length))] : undefined)),
  }
}
