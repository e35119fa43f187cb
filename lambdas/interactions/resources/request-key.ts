/** Key and type of the resource that a request names in its URL. */
import { fhirError } from '../../fhir/outcome.ts'
import { isId } from '../../fhir/resource.ts'
import type { ResourceKey } from '../../ports/store/resource-store.ts'
import type { FhirRequest } from '../interaction.ts'

/**
 * Returns the key of the resource in the URL. Throws FhirError 400 for an invalid id, and TypeError if the route has no id.
 * https://hl7.org/fhir/R4/datatypes.html#id
 */
export function keyOf({ tenant, type, id }: FhirRequest): ResourceKey {
  if (type === undefined || id === undefined) throw new TypeError('the route of this interaction names a type and an id')
  if (!isId(id)) throw malformedId()
  return { tenant, type, id }
}

export const malformedId = (expression?: string): Error =>
  fhirError(400, 'value', 'A logical id has 1 to 64 characters: letters, digits, - and ., and is neither . nor ..', expression)

/** Returns the type in the URL. Throws TypeError if the route has none. */
export function typeOf({ type }: FhirRequest): string {
  if (type === undefined) throw new TypeError('the route of this interaction names a type')
  return type
}

/** Returns the relative reference, such as `Patient/1`. */
export const nameOf = ({ type, id }: { readonly type: string; readonly id: string }): string => `${type}/${id}`
