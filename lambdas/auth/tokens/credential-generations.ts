/**
 * Changes of clients and users that revoke everything issued before. Each token, session and grant names the credential generation that it
 * was issued under, and the change revokes that generation. Times are not compared, so it works although the clocks of servers differ.
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
 * Applies a change, gives the entry a new credential generation, and returns the stored entry. Returns undefined if the entry did not
 * exist, or `change` removed it.
 *
 * Revokes the previous generation before the change. If it is interrupted in between, nothing issued to the entry is valid until the change
 * is repeated. What was issued without a generation stays valid: the caller must revoke it.
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
    // Run `change` before revoking, so that a rejected change revokes nothing.
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

/**
 * Revokes everything with this key, whenever it was or will be issued. The revocation is retained until everything issued before it has
 * expired.
 */
export async function revokePermanently({ revocations, clock }: Ports, mark: RevocationKey): Promise<void> {
  const until = clock.now() + MAX_TOKEN_LIFETIME_MS
  await revocations.revoke({ mark, before: until, until })
}
