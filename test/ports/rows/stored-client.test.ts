/** Stored form of clients. */
import { describe, expect, it } from '@jest/globals'
import type { Client } from '../../../lambdas/ports/rows/clients.ts'
import { readClient, writeClient } from '../../../lambdas/ports/rows/stored-client.ts'

const CLIENT: Client = {
  ...{ id: 'a', name: 'A', authentication: { kind: 'keys', keys: [] }, scopes: ['system/*.rs'], redirectUris: [], tenants: ['default'] },
  ...{ mayIntrospect: false, changedAt: 1 },
}
const PARTNER: Client = { ...CLIENT, partner: { kind: 'payer', identifiers: [{ system: 'urn:a', value: '1' }] } }
const INVITED: Client = { ...CLIENT, scopes: ['patient/*.rs'], invited: { hash: 'h', expires: 2 } }

describe('a stored client', () => {
  it.each([CLIENT, PARTNER, INVITED])('is read as it was written', (client) => expect(readClient(writeClient(client))).toEqual(client))

  it('is read from its first form', () => expect(readClient(JSON.stringify(PARTNER))).toEqual(PARTNER))

  it('has its scopes where every release reads them', () => expect(JSON.parse(writeClient(CLIENT)).scopes).toEqual(['system/*.rs']))

  it.each([PARTNER, INVITED])('has no scope for earlier releases if it is a partner or an invited app', (client) =>
    expect(JSON.parse(writeClient(client)).scopes).toEqual([]),
  )
})
