/**
 * Stored form of clients, as JSON. A release without partners ignores `partner`, and would let the scopes of one open the whole store after a
 * rollback. So the scopes of a partner are stored in `partner`, where only later releases read them.
 */
import type { Client, Partner } from './clients.ts'

/** `scopes`: absent in partners that were stored before this form existed. */
type StoredPartner = Partner & { readonly scopes?: Client['scopes'] }

export function writeClient(client: Client): string {
  const { partner, scopes } = client
  // guard: earlier-releases-grant-partners-nothing
  return JSON.stringify(partner === undefined ? client : { ...client, scopes: [], partner: { ...partner, scopes } })
}

export function readClient(json: string): Client {
  const stored = JSON.parse(json) as Client & { readonly partner?: StoredPartner }
  if (stored.partner === undefined) return stored
  const { scopes = stored.scopes, ...partner } = stored.partner
  return { ...stored, scopes, partner }
}
