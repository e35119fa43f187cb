/** What lambdas/ports/rows/clients.ts promises, as tests: every adapter runs this suite. */
import type { Client, Clients } from '../../lambdas/ports/rows/clients.ts'
import { type RegistrationsUnderTest, registrationsContract } from './registered.contract.ts'

const make = (id: string, scopes: readonly string[]): Client => ({
  ...{ id, name: 'Ä client', scopes, redirectUris: ['http://127.0.0.1/'], tenants: ['*'], mayIntrospect: false, changedAt: 1 },
  authentication: { kind: 'keys', keys: [{ kty: 'RSA', n: 'AQ', e: 'AQAB' }] },
})

export const clientsContract = (name: string, create: () => Promise<RegistrationsUnderTest<Clients>>): void =>
  registrationsContract(`${name}: clients`, create, {
    make,
    tagsOf: ({ scopes }) => scopes,
    nameOf: ({ id }) => id,
    names: ['-', '.', '0', '10', '9', 'A', 'B', 'Z', '_', 'a', 'a-', 'a.b', 'aa', 'b', 'z'.repeat(64)],
    strange: ['a@b', 'a+b', 'z'.repeat(65)],
  })
