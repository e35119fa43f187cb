/** What is remembered of a user's consent, and what withdrawing it asks of the stores. */
import { expect, it } from '@jest/globals'
import { consentOf, rememberConsent, withdrawConsent } from '../../lambdas/auth/consents.ts'
import { isRevoked } from '../../lambdas/auth/revoked.ts'
import type { UserGrant } from '../../lambdas/auth/user-grant.ts'
import { MemoryGrants } from '../fixtures/memory/grants.ts'
import { MemoryRevocations } from '../fixtures/memory/revocations.ts'

const PAIR = { client: 'app', subject: 'ann' }

it('of an app that asks a thousand times 200 grants are kept, the others end, and all end when it is withdrawn', async () => {
  const clock = { now: () => 1_000_000, newId: () => '' }
  const revocations = new MemoryRevocations(clock.now)
  const ports = { grants: new MemoryGrants(clock.now), revocations, clock }
  const counting = async (): Promise<readonly number[]> => {
    const revoked = await Promise.all(Array.from({ length: 1_000 }, (_, i) => isRevoked(revocations, [`sid:s${i}`], 1_000_000)))
    return revoked.flatMap((ended, i) => (ended ? [] : [i]))
  }
  for (let i = 0; i < 1_000; i++)
    await rememberConsent(ports, { ...PAIR, sid: `s${i}`, scopes: ['openid'] } as unknown as UserGrant, ['openid'])
  expect((await consentOf(ports, PAIR))?.sids).toHaveLength(200)
  expect(await counting()).toEqual(Array.from({ length: 200 }, (_, i) => 800 + i))
  await withdrawConsent(ports, PAIR)
  expect([await counting(), await consentOf(ports, PAIR)]).toEqual([[], undefined])
})
