/** An app to try the server with. Anybody on this machine may be it, so that it is there only where nobody else can reach the server. */
import type { Client, Clients } from '../ports/clients.ts'

export const DEMO: Client = {
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

/** One that somebody registered under its name stays what it is. */
export const tendDemo = (clients: Pick<Clients, 'change'>, isOnThisMachine: boolean): Promise<Client | undefined> =>
  clients.change(DEMO.id, (client) => {
    if (client === undefined) return isOnThisMachine ? DEMO : undefined
    return client.changedAt === DEMO.changedAt && !isOnThisMachine ? undefined : client
  })
