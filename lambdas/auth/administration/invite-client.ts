/** Operator command that invites an app to register itself. */
import type { Clients } from '../../ports/rows/clients.ts'
import { isExpired, type MadeInvitation, makeInvitation, type NewInvitation } from '../clients/invitations.ts'
import { type AuditPorts, auditChange } from './audited-change.ts'

export type InvitationPorts = AuditPorts & { readonly clients: Clients }

/** Creates an invitation, and removes expired invitations. Throws RangeError if a property of the new invitation is invalid. */
export async function inviteClient(ports: InvitationPorts, invitation: NewInvitation): Promise<MadeInvitation> {
  const { clients, clock } = ports
  const made = makeInvitation(clock.newId(), invitation, clock.now())
  await auditChange(ports, { interaction: 'client invite', client: made.client.id }, async () => {
    await removeExpired(ports)
    await clients.change(made.client.id, () => made.client)
  })
  return made
}

async function removeExpired({ clients, clock }: InvitationPorts): Promise<void> {
  for (const client of await clients.list())
    if (isExpired(client, clock.now()))
      // An app may have registered after the list was read.
      await clients.change(client.id, (known) => (known !== undefined && isExpired(known, clock.now()) ? undefined : known))
}
