/** Patches of who may change what it may not see: they say what is to be, and ask nothing about what is. */
import { FhirError, fhirError } from '../fhir/outcome.ts'
import { isElement } from '../fhir/resource.ts'
import type { ResourceKey } from '../ports/resource-store.ts'
import { outOfScope } from './forbidden.ts'
import type { FhirRequest } from './interaction.ts'

/** FhirError 403 for a patch that looks at what is there; every 422 is the same one, whatever is there. */
export async function blindly<T>({ access, patch }: FhirRequest, { type }: ResourceKey, apply: () => Promise<T>): Promise<T> {
  if (looks(patch)) throw outOfScope(access, type, 'r')
  try {
    return await apply()
  } catch (error) {
    if (!(error instanceof FhirError) || error.status !== 422) throw error
    throw fhirError(422, 'processing', 'The patch does not apply, or what it would make is not valid')
  }
}

/** Whether what it does depends on a value that is there, and not only on whether there is one. */
const looks = (patch: unknown): boolean =>
  Array.isArray(patch) ? patch.some(looksAtJson) : textsIn(patch).some((path) => !PLAIN.test(path))

const LOOKING: ReadonlySet<unknown> = new Set(['test', 'copy', 'move'])
const looksAtJson = (operation: unknown): boolean => isElement(operation) && LOOKING.has(operation.op)

/** A FHIRPath of elements and indices, without functions or operators. */
const PLAIN = /^\s*\w+(?:\.\w+|\[\d+\])*\s*$/

/** The paths of a FHIRPath Patch. */
function textsIn(patch: unknown): readonly string[] {
  const parts = isElement(patch) ? [patch.parameter].flat().flatMap((each) => (isElement(each) ? [each.part].flat() : [])) : []
  return parts.flatMap((part) => (isElement(part) && part.name === 'path' ? [String(part.valueString ?? part.valueCode)] : []))
}
