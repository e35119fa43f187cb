/**
 * A store of who may do what that was itself set back to an earlier time, or did not count for a while: it does not know what was revoked. So
 * nothing counts that was issued before it was adopted: access tokens, refresh tokens, codes, logins, launches.
 */
import type { Clock } from '../../ports/execution/clock.ts'
import { ALL_TOKENS, type Revocations } from '../../ports/rows/revocations.ts'
import type { SharedState } from '../../ports/rows/shared-state.ts'
import { MAX_TOKEN_LIFETIME_MS } from './lifetimes.ts'

/** `store`: the name of the one that was adopted last; empty: none. */
export type AdoptedStore = { readonly store: string }

export const NO_ADOPTED_STORE: AdoptedStore = { store: '' }

export type AdoptionPorts = {
  readonly adopted: SharedState<AdoptedStore>
  readonly revocations: Pick<Revocations, 'revoke'>
  readonly clock: Pick<Clock, 'now'>
}

/** Once for a store: with each later deployment what is issued goes on to count. `wasAway`: it counts again after another one did. */
export async function revokeAllOnAdoption({ adopted, revocations, clock }: AdoptionPorts, store: string, wasAway: boolean): Promise<void> {
  if ((await adopted.read()).value.store === store && !wasAway) return
  const before = clock.now()
  await revocations.revoke({ mark: ALL_TOKENS, before, until: before + MAX_TOKEN_LIFETIME_MS })
  await adopted.change(() => ({ store }))
}
