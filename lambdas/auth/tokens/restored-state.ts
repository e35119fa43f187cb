/**
 * A store of who may do what that was itself set back to an earlier time, or did not count for a while: it does not know what was revoked. So
 * nothing counts that was issued before it was adopted: access tokens, refresh tokens, codes, logins, launches.
 */
import type { Clock } from '../../ports/execution/clock.ts'
import { ALL, type Revocations } from '../../ports/rows/revocations.ts'
import type { KeptState } from '../../ports/rows/shared-state.ts'
import { LONGEST_LIFE } from './lifetimes.ts'

/** `store`: the name of the one that was adopted last; empty: none. */
export type Adopted = { readonly store: string }

export const NOT_ADOPTED: Adopted = { store: '' }

export type AdoptionPorts = {
  readonly adopted: KeptState<Adopted>
  readonly revocations: Pick<Revocations, 'revoke'>
  readonly clock: Pick<Clock, 'now'>
}

/** Once for a store: with each later deployment what is issued goes on to count. `wasAway`: it counts again after another one did. */
export async function endWhatWasIssued({ adopted, revocations, clock }: AdoptionPorts, store: string, wasAway: boolean): Promise<void> {
  if ((await adopted.read()).value.store === store && !wasAway) return
  const before = clock.now()
  await revocations.revoke({ mark: ALL, before, until: before + LONGEST_LIFE })
  await adopted.change(() => ({ store }))
}
