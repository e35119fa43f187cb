/**
 * Adoption of an authorization store: the first deployment with a store that was restored to an earlier time, or was not in use for some
 * time. Such a store lacks revocations. So everything issued before is revoked: access tokens, refresh tokens, codes, sessions, launches.
 */
import type { Clock } from '../../ports/execution/clock.ts'
import { ALL_TOKENS, type Revocations } from '../../ports/rows/revocations.ts'
import type { SharedState } from '../../ports/rows/shared-state.ts'
import { MAX_TOKEN_LIFETIME_MS } from './lifetimes.ts'

/** `store`: name of the store that was adopted last; empty if none was. */
export type AdoptedStore = { readonly store: string }

export const NO_ADOPTED_STORE: AdoptedStore = { store: '' }

export type AdoptionPorts = {
  readonly adopted: SharedState<AdoptedStore>
  readonly revocations: Pick<Revocations, 'revoke'>
  readonly clock: Pick<Clock, 'now'>
}

/**
 * Revokes everything issued until now, if `store` is not the store adopted last, or if `wasAway`. A later deployment with the same store
 * revokes nothing. `wasAway`: another store was in use since.
 */
export async function revokeAllOnAdoption({ adopted, revocations, clock }: AdoptionPorts, store: string, wasAway: boolean): Promise<void> {
  if ((await adopted.read()).value.store === store && !wasAway) return
  const before = clock.now()
  await revocations.revoke({ mark: ALL_TOKENS, before, until: before + MAX_TOKEN_LIFETIME_MS })
  await adopted.change(() => ({ store }))
}
