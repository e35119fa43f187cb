/** Whether a write would be accepted: all of it but the commit, which looks at what a commit looks at, and keeps nothing. */
import { FhirError, type Issue } from '../../fhir/outcome.ts'
import type { ResourceWriter } from '../../ports/store/resource-store.ts'
import type { FhirRequest, RequestWriter } from '../interaction.ts'
import { creation } from '../rest/create.ts'
import { deletion } from '../rest/delete.ts'
import { updating } from '../rest/update.ts'
import { type ChangePorts, type WriteInteraction, type WritePorts, writing } from '../writing/write-loop.ts'

/** `checker`: looks at what a writer looks at, and keeps nothing. */
export type RehearsalPorts = Omit<WritePorts, 'writer'> & { readonly checker: RequestWriter }

/** Of a server that looks at nothing. */
export const NO_WRITER: ResourceWriter = { commit: async () => ({ kind: 'committed' }) }

export type RehearsedCode = 'create' | 'update' | 'delete'

const WRITES: Readonly<Record<RehearsedCode, WriteInteraction>> = { create: creation, update: updating, delete: deletion }

/**
 * Why the write would be refused; of a resource that is not `isValid` in itself, as far as that does not matter. FhirError 403 where the
 * request may not write it.
 */
export async function refusalsOf(
  { checker, ...ports }: RehearsalPorts,
  request: FhirRequest,
  interaction: RehearsedCode,
  isValid: boolean,
): Promise<readonly Issue[]> {
  const write = WRITES[interaction]
  try {
    await writing({ ...ports, writer: checker }, isValid ? write : untilResolved(write))({ ...request, interaction })
    return []
  } catch (thrown) {
    if (thrown instanceof FarEnough) return []
    if (!(thrown instanceof FhirError) || thrown.status === 403) throw thrown
    return thrown.issues
  }
}

class FarEnough extends Error {}

/** Ids, conflicts and preconditions are looked at before references are resolved. */
const untilResolved = ({ locate, change }: WriteInteraction): WriteInteraction => ({
  locate,
  change: (ports: ChangePorts, ...rest) => change({ ...ports, resolve: farEnough }, ...rest),
})

function farEnough(): never {
  throw new FarEnough()
}
