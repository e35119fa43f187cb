/**
 * Demo app for trying the server, a public client. Any program on the machine can use its id, so it exists only if the base URL is a
 * loopback address.
 */
import type { Client, Clients } from '../../ports/rows/clients.ts'
import type { RevocationReader } from '../../ports/rows/revocations.ts'

export const DEMO_CLIENT: Client = {
  id: 'demo',
  name: 'Demo app on this machine',
  authentication: { kind: 'public' },
  scopes: ['openid', 'fhirUser', 'offline_access', 'launch', 'launch/patient', 'patient/*.cruds', 'user/*.cruds'],
  // Loopback URIs without a port match every port.
  redirectUris: ['http://127.0.0.1/callback', 'http://[::1]/callback'],
  tenants: ['default'],
  mayIntrospect: false,
  changedAt: 0,
}

type Stores = { readonly clients: Pick<Clients, 'change'>; readonly revocations: RevocationReader }

/**
 * Adds the demo client if `isOnThisMachine`, and otherwise removes it. Keeps a client that an operator registered or changed under its id.
 * Never adds it again after an operator removed it.
 */
export async function maintainDemoClient({ clients, revocations }: Stores, isOnThisMachine: boolean): Promise<Client | undefined> {
  const isWanted = isOnThisMachine && (await revocations.revoked([`client:${DEMO_CLIENT.id}`])).size === 0
  return clients.change(DEMO_CLIENT.id, (client) => {
    if (client === undefined) return isWanted ? DEMO_CLIENT : undefined
    return client.changedAt === DEMO_CLIENT.changedAt && !isWanted ? undefined : client
  })
}
