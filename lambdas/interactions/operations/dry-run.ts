/** Tests whether a write would be accepted. All steps of the write run, but its commit only performs checks and stores nothing. */
import { FhirError, type Issue } from '../../fhir/outcome.ts'
import type { ResourceWriter } from '../../ports/store/resource-store.ts'
import type { FhirRequest, RequestWriter } from '../interaction.ts'
import { createWrite } from '../rest/create.ts'
import { deleteWrite } from '../rest/delete.ts'
import { updateWrite } from '../rest/update.ts'
import { type ChangePorts, type WriteInteraction, type WritePorts, writeLoop } from '../writing/write-loop.ts'

/** `checker`: performs the checks of the server's writer and stores nothing. */
export type DryRunPorts = Omit<WritePorts, 'writer'> & { readonly checker: RequestWriter }

/** Writer that accepts every commit and stores nothing. It is the checker if the server's writer has no checks of its own. */
export const NO_OP_WRITER: ResourceWriter = { commit: async () => ({ kind: 'committed' }) }

export type DryRunInteraction = 'create' | 'update' | 'delete'

const WRITES: Readonly<Record<DryRunInteraction, WriteInteraction>> = { create: createWrite, update: updateWrite, delete: deleteWrite }

/**
 * Returns the issues for which the write would be rejected. If the resource is not `isValid`, only the checks run that do not depend on
 * valid content. Throws FhirError 403 if the caller may not perform the write.
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

/**
 * Returns the write without its last part: it stops where it would resolve references. Ids, conflicts and preconditions are checked before.
 */
const untilResolved = ({ locate, change }: WriteInteraction): WriteInteraction => ({
  locate,
  change: (ports: ChangePorts, ...rest) => change({ ...ports, resolve: farEnough }, ...rest),
})

function farEnough(): never {
  throw new FarEnough()
}
