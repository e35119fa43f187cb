/** The resource a Binary says it belongs to. https://hl7.org/fhir/R4/binary.html#security-context */
import { parseJsonBytes } from '../fhir/json.ts'
import { type BaseUrls, toLocalReference } from '../fhir/references.ts'
import { isElement } from '../fhir/resource.ts'
import type { ResourceKey, ResourceVersion } from '../ports/store/resource-store.ts'

/** undefined: it has none; `elsewhere`: none that can be looked at here. A Binary is nobody's context: chains of them need no end. */
export function securityContextOf(
  { tenant, type, deleted, body }: ResourceVersion,
  bases: BaseUrls,
): ResourceKey | 'elsewhere' | undefined {
  if (type !== 'Binary' || deleted || body.length === 0) return undefined
  const { securityContext } = parseJsonBytes(body) as { readonly securityContext?: unknown }
  if (securityContext === undefined) return undefined
  const reference = isElement(securityContext) ? securityContext.reference : undefined
  const name = typeof reference === 'string' ? toLocalReference(reference, bases) : undefined
  const [of = '', id = ''] = name?.split('/') ?? []
  // guard: binary-has-no-security-context
  return name === undefined || of === 'Binary' ? 'elsewhere' : { tenant, type: of, id }
}
