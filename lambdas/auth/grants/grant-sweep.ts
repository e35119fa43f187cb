/** Frees the room of what the authorization server remembered and needs no more. */
import type { Clock } from '../../ports/execution/clock.ts'
import type { Grants } from '../../ports/rows/grants.ts'
import type { Revocations } from '../../ports/rows/revocations.ts'
import type { SigningKeys } from '../../ports/security/signing-keys.ts'
import { maintainKeys } from '../tokens/key-rotation.ts'

export type SweepParts = {
  readonly keys: SigningKeys
  readonly grants: Pick<Grants, 'sweep'>
  readonly revocations: Pick<Revocations, 'sweep'>
  /** `maySweep`: whether what is old by it is old. */
  readonly clock: Pick<Clock, 'now'> & { readonly maySweep: () => boolean }
}

/** Every hour. By a clock that cannot be believed nothing is removed: what it takes for expired may count for months. */
export async function sweepAuthorizationState({ keys, grants, revocations, clock }: SweepParts): Promise<void> {
  const maySweep = clock.maySweep()
  await maintainKeys(keys, clock.now(), maySweep)
  // guard: no-sweep-after-clock-jump
  if (!maySweep) return
  await grants.sweep()
  await revocations.sweep()
}
