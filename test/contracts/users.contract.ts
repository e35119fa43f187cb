/** What lambdas/ports/rows/users.ts promises, as tests: every adapter runs this suite. */
import type { User, Users } from '../../lambdas/ports/rows/users.ts'
import { type RegistrationsUnderTest, registrationsContract } from './registered.contract.ts'

const make = (name: string, scopes: readonly string[]): User => ({
  ...{ name, subject: '6f0d', password: 'scrypt$32768$8$1$c2FsdA$aGFzaA', fhirUser: 'Practitioner/1', tenants: ['a', 'b'] },
  ...{ scopes, changedAt: 1 },
})

export const usersContract = (name: string, create: () => Promise<RegistrationsUnderTest<Users>>): void =>
  registrationsContract(`${name}: users`, create, {
    make,
    tagsOf: ({ scopes }) => scopes,
    nameOf: ({ name }) => name,
    names: ['+', '-', '.', '0', '10', '9', '@', '_', 'a', 'a+b@c.example', 'a-', 'aa', 'b', 'z'.repeat(128)],
    strange: ['A', 'Alice', 'a#', 'z'.repeat(129)],
  })
