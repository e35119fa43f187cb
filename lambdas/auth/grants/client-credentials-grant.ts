/** Token for a client on its own behalf, without a user. https://www.rfc-editor.org/rfc/rfc6749#section-4.4 */
import type { AuthenticatedClient } from '../clients/client-authentication.ts'
import type { AuthPorts, AuthRequest, AuthResponse } from '../endpoint.ts'
import { createAccessToken, memberClaimsOf, type TokenGrant, type TokenPorts, tokenResponse } from '../tokens/access-token.ts'
import { grantToClient } from './client-scopes.ts'
import { findMemberInContext } from './partner-member.ts'

export async function exchangeClientCredentials(
  ports: TokenPorts & Pick<AuthPorts, 'isDecidable' | 'partnerMembers'>,
  authenticated: AuthenticatedClient,
  { baseUrl, address, note }: AuthRequest,
): Promise<AuthResponse> {
  const { client, by, parameters } = authenticated
  const { scopes, tenants, ...registered } = await grantToClient(ports, client, parameters.get('scope'))
  const member = await findMemberInContext(ports, authenticated, tenants)
  const context = member === undefined ? registered : { patient: member.patient }
  if (member !== undefined) note({ patients: [`Patient/${member.patient}`] })
  const access: TokenGrant = {
    client,
    by,
    baseUrl,
    subject: client.id,
    sid: ports.clock.newId(),
    scopes,
    tenants,
    acr: '1',
    about: {
      clientId: client.id,
      ...(address === '' ? {} : { clientHost: address, clientAddress: address }),
      ...(member === undefined ? context : memberClaimsOf(member)),
    },
    ...(member === undefined ? {} : { until: member.until }),
  }
  return tokenResponse({ made: await createAccessToken(ports, access), access, more: context })
}
