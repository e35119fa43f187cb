/** A client asks for itself. https://www.rfc-editor.org/rfc/rfc6749#section-4.4, specification 5.2 */
import type { Authenticated } from '../clients/client-authentication.ts'
import type { AuthPorts, AuthRequest, AuthResponse } from '../endpoint.ts'
import { type Access, accessToken, type TokenPorts, tokenAnswer } from '../tokens/access-token.ts'
import { grantedToClient } from './client-scopes.ts'

export async function clientCredentials(
  ports: TokenPorts & Pick<AuthPorts, 'isDecidable'>,
  { client, by, parameters }: Authenticated,
  { baseUrl, address }: AuthRequest,
): Promise<AuthResponse> {
  const { scopes, tenants, ...context } = await grantedToClient(ports, client, parameters.get('scope'))
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
