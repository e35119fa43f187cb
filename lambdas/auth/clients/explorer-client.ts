/**
 * Built-in client of the explorer, a public client. It is computed and never stored. `fhir client remove explorer` switches it off for good.
 * A client that an operator registers under its id takes its place.
 */
import type { Client, Clients } from '../../ports/rows/clients.ts'
import type { RevocationReader } from '../../ports/rows/revocations.ts'

export const EXPLORER_ID = 'explorer'

/** `baseUrl`: base URL of the server, without a trailing slash. */
export const explorerClientOf = (baseUrl: string): Client => ({
  id: EXPLORER_ID,
  name: 'FHIR explorer',
  authentication: { kind: 'public' },
  scopes: ['openid', 'fhirUser', 'user/*.cruds', 'system/admin'],
  redirectUris: [`${baseUrl}/explorer/callback`],
  tenants: ['*'],
  mayIntrospect: false,
  changedAt: 0,
  isExplorer: true,
})

/** Returns clients that include the explorer, unless an operator removed it. */
export const withExplorerClient = (
  clients: Pick<Clients, 'get'>,
  revocations: RevocationReader,
  baseUrl: string,
): Pick<Clients, 'get'> => ({
  async get(id) {
    const registered = await clients.get(id)
    if (registered !== undefined || id !== EXPLORER_ID) return registered
    const isRemoved = (await revocations.revoked([`client:${EXPLORER_ID}`])).size > 0
    return isRemoved ? undefined : explorerClientOf(baseUrl)
  },
})
