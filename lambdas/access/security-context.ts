/** Security context of a Binary: the resource that controls access to it. https://hl7.org/fhir/R4/binary.html#security-context */
import { parseJsonBytes } from '../fhir/json.ts'
import { type BaseUrls, toLocalReference } from '../fhir/references.ts'
import { isElement } from '../fhir/resource.ts'
import type { ResourceKey, ResourceVersion } from '../ports/store/resource-store.ts'

/**
 * Returns the key of the context resource. Returns undefined if there is no security context, and `elsewhere` if the reference does not
 * name a resource of this server. A Binary as context is `elsewhere` too, so that chains and circles of Binaries are not followed.
 */
export function securityContextOf(
  { tenant, type, deleted, body }: ResourceVersion,
  bases: BaseUrls,
): ResourceKey | 'elsewhere' | undefined {
  if (type !== 'Binary' || deleted || body.length === 0) return undefined
  const { securityContext } = parseJsonBytes(body) as { readonly securityContext?: unknown }
  if (securityContext === undefined) return undefined
  const reference = isElement(securityContext) ? securityContext.reference : undefined
  const name = typeof reference === 'string' ? toLocalReference(reference, bases) : undefined
  const [contextType = '', id = ''] = name?.split('/') ?? []
  // guard: binary-has-no-security-context
  return name === undefined || contextType === 'Binary' ? 'elsewhere' : { tenant, type: contextType, id }
}
