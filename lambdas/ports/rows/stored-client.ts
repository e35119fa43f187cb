/**
 * Stored form of clients, as JSON. After a rollback, a release without partners ignores `partner`, and the scopes would open the whole
 * store. So the scopes of a partner are stored in `partner`, where only later releases read them. The scopes of an invited app are stored
 * in `invited`, because a release without invitations would let the app act without a user.
 */
import type { Client, Invited, Partner } from './clients.ts'

/** `scopes`: absent in partners that were stored before this form existed. */
type WithScopes<Part> = Part & { readonly scopes?: Client['scopes'] }
type StoredClient = Client & { readonly partner?: WithScopes<Partner>; readonly invited?: WithScopes<Invited> }

export function writeClient(client: Client): string {
  const { partner, invited, scopes } = client
  // guard: earlier-releases-grant-partners-nothing
  if (partner !== undefined) return JSON.stringify({ ...client, scopes: [], partner: { ...partner, scopes } })
  // guard: earlier-releases-grant-invited-apps-nothing
  if (invited !== undefined) return JSON.stringify({ ...client, scopes: [], invited: { ...invited, scopes } })
  return JSON.stringify(client)
}

export function readClient(json: string): Client {
  const stored = JSON.parse(json) as StoredClient
  if (stored.partner !== undefined) {
    const { scopes = stored.scopes, ...partner } = stored.partner
    return { ...stored, scopes, partner }
  }
  if (stored.invited === undefined) return stored
  const { scopes = stored.scopes, ...invited } = stored.invited
  return { ...stored, scopes, invited }
}
