/** An app to try the server with. Anybody on this machine may be it, so that it is there only where the server calls itself by a loopback address. */
import type { Client, Clients } from '../../ports/rows/clients.ts'
import type { RevocationReader } from '../../ports/rows/revocations.ts'

export const DEMO_CLIENT: Client = {
  id: 'demo',
  name: 'Demo app on this machine',
  authentication: { kind: 'public' },
  scopes: ['openid', 'fhirUser', 'offline_access', 'launch', 'launch/patient', 'patient/*.cruds', 'user/*.cruds'],
  // Of any port.
  redirectUris: ['http://127.0.0.1/callback', 'http://[::1]/callback'],
  tenants: ['default'],
  mayIntrospect: false,
  changedAt: 0,
}

type Stores = { readonly clients: Pick<Clients, 'change'>; readonly revocations: RevocationReader }

/** One that somebody registered under its name stays what it is; once somebody has removed it, it does not come back. */
export async function maintainDemoClient({ clients, revocations }: Stores, isOnThisMachine: boolean): Promise<Client | undefined> {
  const isWanted = isOnThisMachine && (await revocations.revoked([`client:${DEMO_CLIENT.id}`])).size === 0
  return clients.change(DEMO_CLIENT.id, (client) => {
    if (client === undefined) return isWanted ? DEMO_CLIENT : undefined
    return client.changedAt === DEMO_CLIENT.changedAt && !isWanted ? undefined : client
  })
}
