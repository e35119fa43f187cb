/**
 * Changes of a client or a user after which nothing counts that was issued before. What is issued names the generation it was read from, and that
 * generation ends: no clock decides, neither that of who says so, nor that of who was issuing meanwhile.
 */
import type { Clock } from '../../ports/execution/clock.ts'
import type { Client } from '../../ports/rows/clients.ts'
import { type RevocationKey, type Revocations, revocationKeyOf } from '../../ports/rows/revocations.ts'
import type { User } from '../../ports/rows/users.ts'
import { MAX_TOKEN_LIFETIME_MS } from './lifetimes.ts'

type Ports = { readonly revocations: Revocations; readonly clock: Clock }

type Entries<Entry> = {
  get(name: string): Promise<Entry | undefined>
  change(name: string, change: (entry: Entry | undefined) => Entry | undefined): Promise<Entry | undefined>
}

export const clientRevocationKey = ({ id, generation }: Pick<Client, 'id' | 'generation'>): RevocationKey =>
  revocationKeyOf('client', id, generation)
export const userRevocationKey = ({ subject, generation }: Pick<User, 'subject' | 'generation'>): RevocationKey =>
  revocationKeyOf('user', subject, generation)

/**
 * What it came to, with a generation of its own; undefined: `change` removed it, or it was not there. The generation ends first: where this is
 * interrupted nothing counts that was or is issued, until it is said again.
 */
export async function changeGeneration<Entry extends Client | User>(
  ports: Ports,
  entries: Entries<Entry>,
  name: string,
  change: (known: Entry) => Entry | undefined,
): Promise<Entry | undefined> {
  for (;;) {
    const known = await entries.get(name)
    if (known === undefined) return undefined
    // What it refuses has ended nothing.
    change(known)
    if (known.generation !== undefined)
      await revokePermanently(ports, 'id' in known ? clientRevocationKey(known) : userRevocationKey(known))
    let isOurs = true
    const after = await entries.change(name, (now) => {
      isOurs = now?.generation === known.generation
      if (now === undefined || !isOurs) return now
      const next = change(now)
      return next === undefined ? undefined : { ...next, generation: ports.clock.newId() }
    })
    if (isOurs) return after
  }
}

/** Whatever instant it was issued at. */
export async function revokePermanently({ revocations, clock }: Ports, mark: RevocationKey): Promise<void> {
  const until = clock.now() + MAX_TOKEN_LIFETIME_MS
  await revocations.revoke({ mark, before: until, until })
}
