/** Finds the patients with data in a version, for the audit record. The compartments of the version do not name all of them. */
import { securityContextOf } from '../../access/security-context.ts'
import { parseJsonBytes } from '../../fhir/json.ts'
import { type BaseUrls, toLocalReference } from '../../fhir/references.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import type { VisibleStore } from '../visible-store.ts'

type Stored = Pick<ResourceVersion, 'type' | 'deleted' | 'body' | 'compartments'>

/** Returns the compartments of a version and, for a Device, its patient, because Devices are in no Patient compartment. */
export function ownersOf({ type, deleted, body, compartments }: Stored, bases: BaseUrls): readonly string[] {
  if (type !== 'Device' || deleted || body.length === 0) return compartments
  const { patient } = parseJsonBytes(body) as { readonly patient?: { readonly reference?: unknown } }
  const name = typeof patient?.reference === 'string' ? toLocalReference(patient.reference, bases) : undefined
  return name === undefined ? compartments : [...compartments, name]
}

/**
 * Returns the owners of a version, as `ownersOf` does. A Binary with a security context has the owners of that context. A context outside
 * this server gives none.
 */
export async function readOwners(
  seen: Pick<VisibleStore, 'current'>,
  version: ResourceVersion,
  bases: BaseUrls,
): Promise<readonly string[]> {
  const { type, body } = version
  // Parse a Binary only if it may have a security context, because it may be large. Without one, its own compartments are its owners.
  if (type !== 'Binary' || !Buffer.from(body.buffer, body.byteOffset, body.length).includes('"securityContext"'))
    return ownersOf(version, bases)
  const context = securityContextOf(version, bases)
  if (context === undefined || context === 'elsewhere') return []
  const [head] = context.type === 'Patient' ? [] : await seen.current([context])
  return head === undefined ? [`${context.type}/${context.id}`] : ownersOf(head, bases)
}
