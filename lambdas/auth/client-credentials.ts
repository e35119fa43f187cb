/** A client asks for itself. https://www.rfc-editor.org/rfc/rfc6749#section-4.4, specification 5.2 */
import { type Access, accessToken, type TokenPorts, tokenAnswer } from './access-token.ts'
import type { Authenticated } from './client-authentication.ts'
import { keptTenants, NO_TENANTS, tenantsOfPerson } from './common-tenants.ts'
import type { AuthPorts, AuthRequest, AuthResponse } from './endpoint.ts'
import { checkConditions, scopesOfClient } from './granted-scopes.ts'
import { OAuthError } from './oauth-error.ts'

export async function clientCredentials(
  ports: TokenPorts & Pick<AuthPorts, 'isDecidable'>,
  { client, by, parameters }: Authenticated,
  { baseUrl, address }: AuthRequest,
): Promise<AuthResponse> {
  if (by === 'none') throw new OAuthError('unauthorized_client', 'A public client cannot ask for itself')
  const scopes = scopesOfClient(client, parameters.get('scope'))
  const tenants = keptTenants(ports.choices, client.tenants)
  if (tenants.length === 0) throw new OAuthError('unauthorized_client', `The client is of other tenants: ${NO_TENANTS}`)
  await checkConditions(ports, scopes, tenants)
  if (tenantsOfPerson(tenants, client.patient).length === 0)
    throw new OAuthError('unauthorized_client', 'The client has a patient, and several tenants: in each that is somebody else')
  const patient = client.patient?.replace(/^Patient\//, '')
  const context = patient === undefined ? {} : { patient }
  const access: Access = {
    client,
    by,
    baseUrl,
    subject: client.id,
    sid: ports.clock.newId(),
    scopes,
    tenants,
    acr: '1',
    about: { clientId: client.id, ...(address === '' ? {} : { clientHost: address, clientAddress: address }), ...context },
  }
  return tokenAnswer({ made: await accessToken(ports, access), access, more: context })
}
