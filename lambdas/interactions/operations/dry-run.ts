/** Whether a write would be accepted: all of it but the commit, which looks at what a commit looks at, and keeps nothing. */
import { FhirError, type Issue } from '../../fhir/outcome.ts'
import type { ResourceWriter } from '../../ports/store/resource-store.ts'
import type { FhirRequest, RequestWriter } from '../interaction.ts'
import { createWrite } from '../rest/create.ts'
import { deleteWrite } from '../rest/delete.ts'
import { updateWrite } from '../rest/update.ts'
import { type ChangePorts, type WriteInteraction, type WritePorts, writeLoop } from '../writing/write-loop.ts'

/** `checker`: looks at what a writer looks at, and keeps nothing. */
export type DryRunPorts = Omit<WritePorts, 'writer'> & { readonly checker: RequestWriter }

/** Of a server that looks at nothing. */
export const NO_OP_WRITER: ResourceWriter = { commit: async () => ({ kind: 'committed' }) }

export type DryRunInteraction = 'create' | 'update' | 'delete'

const WRITES: Readonly<Record<DryRunInteraction, WriteInteraction>> = { create: createWrite, update: updateWrite, delete: deleteWrite }

/**
 * Why the write would be refused; of a resource that is not `isValid` in itself, as far as that does not matter. FhirError 403 where the
 * request may not write it.
 */
export async function refusalsOf(
  { checker, ...ports }: DryRunPorts,
  request: FhirRequest,
  interaction: DryRunInteraction,
  isValid: boolean,
): Promise<readonly Issue[]> {
  const write = WRITES[interaction]
  try {
    await writeLoop({ ...ports, writer: checker }, isValid ? write : untilResolved(write))({ ...request, interaction })
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
