/** Token for a client on its own behalf, without a user. https://www.rfc-editor.org/rfc/rfc6749#section-4.4 */
import type { AuthenticatedClient } from '../clients/client-authentication.ts'
import type { AuthPorts, AuthRequest, AuthResponse } from '../endpoint.ts'
import { createAccessToken, type TokenGrant, type TokenPorts, tokenResponse } from '../tokens/access-token.ts'
import { grantToClient } from './client-scopes.ts'

export async function exchangeClientCredentials(
  ports: TokenPorts & Pick<AuthPorts, 'isDecidable'>,
  { client, by, parameters }: AuthenticatedClient,
  { baseUrl, address }: AuthRequest,
): Promise<AuthResponse> {
  const { scopes, tenants, ...context } = await grantToClient(ports, client, parameters.get('scope'))
  const access: TokenGrant = {
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
  return tokenResponse({ made: await createAccessToken(ports, access), access, more: context })
}
