/** The in-memory doubles of the authorization server stores fulfill the same contracts. */
import { clientsContract } from '../../contracts/clients.contract.ts'
import { grantsContract, PAGE_UNDER_TEST } from '../../contracts/grants.contract.ts'
import { revocationsContract } from '../../contracts/revocations.contract.ts'
import { signingKeysContract } from '../../contracts/signing-keys.contract.ts'
import { usersContract } from '../../contracts/users.contract.ts'
import { MemoryGrants } from '../../fixtures/memory/grants.ts'
import { MemoryClients, MemoryUsers } from '../../fixtures/memory/registered.ts'
import { MemoryRevocations } from '../../fixtures/memory/revocations.ts'
import { MemorySigningKeys } from '../../fixtures/memory/signing-keys.ts'

clientsContract('memory', async () => {
  const clients = new MemoryClients()
  return { open: async () => clients, written: () => clients.writes }
})

usersContract('memory', async () => {
  const users = new MemoryUsers()
  return { open: async () => users, written: () => users.writes }
})

grantsContract('memory', async () => {
  const clock = { time: 0 }
  const grants = new MemoryGrants(() => clock.time, PAGE_UNDER_TEST)
  return { open: async () => grants, setTime: (now) => void Object.assign(clock, { time: now }), taken: async () => grants.size }
})

revocationsContract('memory', async () => {
  const clock = { time: 0 }
  const revocations = new MemoryRevocations(() => clock.time)
  return { open: async () => revocations, setTime: (now) => void Object.assign(clock, { time: now }), taken: async () => revocations.size }
})

signingKeysContract('memory', async () => {
  const keys = new MemorySigningKeys()
  return { open: async () => keys }
})
