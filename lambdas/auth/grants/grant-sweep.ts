/** Hourly maintenance of the authorization store: signing keys, and removal of expired rows. */
import type { Clock } from '../../ports/execution/clock.ts'
import type { Grants } from '../../ports/rows/grants.ts'
import type { Revocations } from '../../ports/rows/revocations.ts'
import type { SigningKeys } from '../../ports/security/signing-keys.ts'
import { maintainKeys } from '../tokens/key-rotation.ts'

export type SweepParts = {
  readonly keys: SigningKeys
  readonly grants: Pick<Grants, 'sweep'>
  readonly revocations: Pick<Revocations, 'sweep'>
  /** `maySweep`: whether the clock is trusted to decide that something has expired. */
  readonly clock: Pick<Clock, 'now'> & { readonly maySweep: () => boolean }
}

/**
 * Maintains the signing keys and removes expired grants and revocations. While the clock is not trusted it removes nothing: what seems
 * expired may be valid for months.
 */
export async function sweepAuthorizationState({ keys, grants, revocations, clock }: SweepParts): Promise<void> {
  const maySweep = clock.maySweep()
  await maintainKeys(keys, clock.now(), maySweep)
  // guard: no-sweep-after-clock-jump
  if (!maySweep) return
  await grants.sweep()
  await revocations.sweep()
}
