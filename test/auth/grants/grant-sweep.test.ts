/** What is removed every hour, and by which clock. */
import { expect, it } from '@jest/globals'
import { sweepAuthorizationState } from '../../../lambdas/auth/grants/grant-sweep.ts'
import { MemoryGrants } from '../../fixtures/memory/grants.ts'
import { MemoryRevocations } from '../../fixtures/memory/revocations.ts'
import { MemorySigningKeys } from '../../fixtures/memory/signing-keys.ts'

const T = Date.UTC(2026, 0, 1)
const DAY = 86_400_000

it('a sweep removes expired rows, and only by a reliable clock', async () => {
  let [now, maySweep] = [T, true]
  const clock = { now: () => now, maySweep: () => maySweep }
  const [grants, revocations, keys] = [new MemoryGrants(clock.now), new MemoryRevocations(clock.now), new MemorySigningKeys()]
  const old = await keys.make(T - DAY)
  await keys.make(T - DAY + 1)
  await keys.retire(old.key.kid, T)
  await grants.add('refresh', 'k', { owner: 'o', value: 1, expires: T + DAY })
  await revocations.revoke({ mark: 'sid:s', before: T, until: T + DAY })
  const left = async () => [grants.size, revocations.size, (await keys.list()).length]
  await sweepAuthorizationState({ keys, grants, revocations, clock })
  expect(await left()).toEqual([1, 1, 2])
  ;[now, maySweep] = [T + 100 * DAY, false]
  await sweepAuthorizationState({ keys, grants, revocations, clock })
  expect(await left()).toEqual([1, 1, 2])
  maySweep = true
  await sweepAuthorizationState({ keys, grants, revocations, clock })
  expect(await left()).toEqual([0, 0, 1])
})

it('a sweep creates a missing signing key, whatever the clock says', async () => {
  const keys = new MemorySigningKeys()
  const nothing = { sweep: async () => undefined }
  await sweepAuthorizationState({ keys, grants: nothing, revocations: nothing, clock: { now: () => T, maySweep: () => false } })
  expect(await keys.list()).toHaveLength(1)
})
