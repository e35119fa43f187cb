/** Scopes and tenants of a client on its own behalf, without a user. https://www.rfc-editor.org/rfc/rfc6749#section-4.4 */
import type { Client } from '../../ports/rows/clients.ts'
import type { AuthPorts } from '../endpoint.ts'
import { OAuthError } from '../oauth-error.ts'
import { filterServedTenants, TENANCY_OFF_TEXT, tenantsOfPerson } from '../tenant-intersection.ts'
import { checkScopeConditions, grantClientScopes } from './granted-scopes.ts'

/** Grant to a client on its own behalf. `tenants`: tenant names, or `*` for any. `patient`: id of the patient in context. */
export type ClientGrant = { readonly scopes: readonly string[]; readonly tenants: readonly string[]; readonly patient?: string }

/**
 * Returns the scopes and tenants for a request without a user. `asked`: requested scopes; undefined requests all registered scopes except
 * `system/admin`. Throws OAuthError if the client is public or invited, if no scope can be granted, or if a resource alone cannot decide the condition
 * of a scope. Throws it too if the server serves no tenant of the client, or if the client has a patient and several tenants.
 */
export async function grantToClient(
  ports: Pick<AuthPorts, 'choices' | 'isDecidable'>,
  client: Client,
  asked?: string,
): Promise<ClientGrant> {
  if (client.authentication.kind === 'public') throw new OAuthError('unauthorized_client', 'A public client cannot ask for itself')
  // Without a user, `patient/` scopes open the data of all patients.
  // guard: invited-app-acts-for-users-only
  if (client.invited !== undefined)
    throw new OAuthError('unauthorized_client', 'This client acts only for users who log in: use authorization_code')
  const scopes = grantClientScopes(client, asked)
  const tenants = filterServedTenants(ports.choices, client.tenants)
  if (tenants.length === 0) throw new OAuthError('unauthorized_client', `The client is of other tenants: ${TENANCY_OFF_TEXT}`)
  await checkScopeConditions(ports, scopes, tenants)
  if (tenantsOfPerson(tenants, client.patient).length === 0)
    throw new OAuthError(
      'unauthorized_client',
      'The client has a patient and several tenants, but a patient id names another person in each tenant',
    )
  const patient = client.patient?.replace(/^Patient\//, '')
  return { scopes, tenants, ...(patient === undefined ? {} : { patient }) }
}
