/** Guesses are counted by network: who has one address of IPv6 has 2^64. */
import { expect, it } from '@jest/globals'
import { networkOf } from '../../../lambdas/auth/login/client-network.ts'
import { createAuthorization } from '../authorization.ts'

it.each([
  ['192.0.2.1', '192.0.2.1'],
  ['2001:db8:0:a::1', '2001:db8:0:a'],
  ['2001:0DB8:0:a:ffff:1:2:3', '2001:db8:0:a'],
  ['2001:db8::1', '2001:db8:0:0'],
  ['2001:db8::', '2001:db8:0:0'],
  ['::1', '0:0:0:0'],
  ['fe80::1%eth0', 'fe80:0:0:0'],
  ['', ''],
])('%s is counted as network %s', (address, network) => {
  expect(networkOf(address)).toBe(network)
})

it('guesses from several addresses of one network are throttled together', async () => {
  const auth = await createAuthorization()
  await auth.addClient('app')
  const form = { grant_type: 'client_credentials', client_id: 'app', client_secret: 'wrong' }
  const guess = async (address: string) => (await auth.ask('POST', '/auth/token', { form, address })).status
  for (let i = 0; i < 10; i++) await guess(`2001:db8::${i}`)
  expect([await guess('2001:db8::ffff'), await guess('2001:db8:1::1')]).toEqual([429, 401])
})
