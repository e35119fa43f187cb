/** What is remembered of a user's consent, and what withdrawing it asks of the stores. */
import { expect, it, jest } from '@jest/globals'
import { consentOf, consentsOf, storeConsent, withdrawConsent } from '../../../lambdas/auth/grants/consents.ts'
import { ownerOf } from '../../../lambdas/auth/tokens/refresh-tokens.ts'
import { isRevoked } from '../../../lambdas/auth/tokens/revocation-check.ts'
import type { UserGrant } from '../../../lambdas/auth/user-grant-type.ts'
import type { Client } from '../../../lambdas/ports/rows/clients.ts'
import { MemoryGrants } from '../../fixtures/memory/grants.ts'
import { MemoryRevocations } from '../../fixtures/memory/revocations.ts'

const PAIR = { client: 'app', subject: 'ann' }
const APP = { id: 'app' } as Client

it('a consent holds 200 grants; older ones are revoked, and all when it is withdrawn', async () => {
  const clock = { now: () => 1_000_000, newId: () => '' }
  const revocations = new MemoryRevocations(clock.now)
  const ports = { grants: new MemoryGrants(clock.now), revocations, clock }
  const consent = () => consentOf(ports, APP, 'ann')
  const counting = async (): Promise<readonly number[]> => {
    const revoked = await Promise.all(Array.from({ length: 1_000 }, (_, i) => isRevoked(revocations, [`sid:s${i}`], 1_000_000)))
    return revoked.flatMap((ended, i) => (ended ? [] : [i]))
  }
  for (let i = 0; i < 1_000; i++)
    await storeConsent(ports, { ...PAIR, sid: `s${i}`, scopes: ['openid'] } as unknown as UserGrant, ['openid'])
  expect((await consent())?.sids).toHaveLength(200)
  expect(await counting()).toEqual(Array.from({ length: 200 }, (_, i) => 800 + i))
  await withdrawConsent(ports, PAIR)
  expect([await counting(), await consent()]).toEqual([[], undefined])
})

it('withdrawing revokes each grant once, and retains the consent if a revocation fails', async () => {
  const clock = { now: () => 1_000_000, newId: () => '' }
  const ports = { grants: new MemoryGrants(clock.now), revocations: new MemoryRevocations(clock.now), clock }
  const consent = () => consentOf(ports, APP, 'ann')
  const grant = { ...PAIR, sid: 'long', scopes: ['offline_access'] } as unknown as UserGrant
  await storeConsent(ports, { ...grant, sid: 'new' }, ['offline_access'])
  const rotated = { owner: ownerOf(PAIR), value: { grant, issuedAt: 1_000_000, used: true } }
  for (let i = 0; i < 2_000; i++) await ports.grants.add('refresh', `token${i}`, rotated)
  const revoke = jest.spyOn(ports.revocations, 'revoke').mockRejectedValueOnce(new Error('broken'))
  await expect(withdrawConsent(ports, PAIR)).rejects.toThrow('broken')
  expect(await consent()).toBeDefined()
  const remove = jest.spyOn(ports.grants, 'remove')
  await withdrawConsent(ports, PAIR)
  expect(revoke.mock.calls.slice(1).map(([{ mark }]) => mark)).toEqual(['sid:new', 'sid:long'])
  expect([remove.mock.calls, await consent()]).toEqual([[['consent', ownerOf(PAIR), expect.any(Number)]], undefined])
})

it('withdrawing also revokes a grant that is given concurrently', async () => {
  const clock = { now: () => 1_000_000, newId: () => '' }
  const ports = { grants: new MemoryGrants(clock.now), revocations: new MemoryRevocations(clock.now), clock }
  const grant = { ...PAIR, sid: 'before', scopes: ['openid'] } as unknown as UserGrant
  await storeConsent(ports, grant, ['openid'])
  jest.spyOn(ports.grants, 'listOf').mockImplementationOnce(async () => {
    await storeConsent(ports, { ...grant, sid: 'meanwhile' }, ['openid'])
    return []
  })
  await withdrawConsent(ports, PAIR)
  const ended = (sid: string) => isRevoked(ports.revocations, [`sid:${sid}`], 1_000_000)
  expect([await ended('before'), await ended('meanwhile'), await consentOf(ports, APP, 'ann')]).toEqual([true, true, undefined])
})

it('withdrawing revokes all grants that can be refreshed, and no other app’s', async () => {
  const clock = { now: () => 1_000_000, newId: () => '' }
  const ports = { grants: new MemoryGrants(clock.now, 10), revocations: new MemoryRevocations(clock.now), clock }
  await storeConsent(ports, { ...PAIR, sid: 'new', scopes: ['openid'] } as unknown as UserGrant, ['openid'])
  const refreshing = (sid: string) => ({ owner: ownerOf(PAIR), value: { grant: { ...PAIR, sid }, issuedAt: 1, newest: '' } })
  for (let i = 0; i < 35; i++) await ports.grants.add('refresh', `key${i}`, refreshing(`s${i}`))
  await ports.grants.add('refresh', 'of another app', { ...refreshing('other'), owner: ownerOf({ ...PAIR, client: 'other' }) })
  await withdrawConsent(ports, PAIR)
  const left = []
  for (const sid of ['new', ...Array.from({ length: 35 }, (_, i) => `s${i}`), 'other'])
    if (!(await isRevoked(ports.revocations, [`sid:${sid}`], 1_000_000))) left.push(sid)
  expect(left).toEqual(['other'])
})

it('the account page lists more apps than one page of the store holds', async () => {
  const clock = { now: () => 1_000_000, newId: () => '' }
  const ports = { grants: new MemoryGrants(clock.now, 2), revocations: new MemoryRevocations(clock.now), clock }
  const ids = ['a', 'b', 'c', 'd', 'e']
  for (const client of ids)
    await storeConsent(ports, { client, subject: 'ann', sid: client, scopes: ['openid'] } as unknown as UserGrant, ['openid'])
  const clients = { get: async (id: string) => ({ id }) as Client }
  expect((await consentsOf({ ...ports, clients }, 'ann')).map(({ client }) => client.id)).toEqual(ids)
})
