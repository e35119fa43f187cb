/** Patients with data in a version, for the audit record: more than its compartments name. */
import { securityContextOf } from '../../access/security-context.ts'
import { parseJsonBytes } from '../../fhir/json.ts'
import { type BaseUrls, toLocalReference } from '../../fhir/references.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import type { VisibleStore } from '../visible-store.ts'

type Stored = Pick<ResourceVersion, 'type' | 'deleted' | 'body' | 'compartments'>

/** Returns the compartments of a version; of a Device also its patient, since no compartment has Devices. */
export function ownersOf({ type, deleted, body, compartments }: Stored, bases: BaseUrls): readonly string[] {
  if (type !== 'Device' || deleted || body.length === 0) return compartments
  const { patient } = parseJsonBytes(body) as { readonly patient?: { readonly reference?: unknown } }
  const name = typeof patient?.reference === 'string' ? toLocalReference(patient.reference, bases) : undefined
  return name === undefined ? compartments : [...compartments, name]
}

/** Returns the same; of a Binary the owners of the resource that its security context names. */
export async function readOwners(
  seen: Pick<VisibleStore, 'current'>,
  version: ResourceVersion,
  bases: BaseUrls,
): Promise<readonly string[]> {
  const { type, body } = version
  // A large Binary is read as a tree only where it has a context.
  if (type !== 'Binary' || !Buffer.from(body.buffer, body.byteOffset, body.length).includes('"securityContext"'))
    return ownersOf(version, bases)
  const context = securityContextOf(version, bases)
  if (context === undefined || context === 'elsewhere') return []
  const [head] = context.type === 'Patient' ? [] : await seen.current([context])
  return head === undefined ? [`${context.type}/${context.id}`] : ownersOf(head, bases)
}
