/** Token introspection: whether a token is valid, and its claims. https://www.rfc-editor.org/rfc/rfc7662 */
import type { AccessClaims } from '../../access/claims.ts'
import type { Client } from '../../ports/rows/clients.ts'
import type { RevocationReader } from '../../ports/rows/revocations.ts'
import { authenticateClient } from '../clients/client-authentication.ts'
import type { AuthPorts, AuthRequest, Endpoint, VerifyingPorts } from '../endpoint.ts'
import { jsonResponse, OAuthError } from '../oauth-error.ts'
import { requireParameter } from '../request-parameters.ts'
import { intersectTenants } from '../tenant-intersection.ts'
import { isTokenRevoked, readCanonicalToken, tenantsOfToken } from '../tokens/received-token.ts'

export type IntrospectPorts = VerifyingPorts &
  Pick<AuthPorts, 'clients' | 'grants' | 'keySource' | 'choices'> & { readonly revocations: RevocationReader }

/**
 * Returns the claims of a valid token to the client it was issued to. Another client gets them only if it is registered for introspection
 * and has a tenant in common with the token. Every other token is reported as inactive, as an invalid one is. Public clients are rejected.
 */
export const introspect =
  (ports: IntrospectPorts): Endpoint =>
  async (request) => {
    const { client, by, parameters } = await authenticateClient(ports, request)
    if (by === 'none') throw new OAuthError('invalid_client', 'The client did not authenticate')
    const claims = await claimsOf(ports, requireParameter(parameters, 'token'), client, request)
    request.note({ outcome: claims === undefined ? 'inactive' : 'active' })
    return jsonResponse(200, claims === undefined ? { active: false } : told(claims, request))
  }

async function claimsOf(
  ports: IntrospectPorts,
  token: string,
  client: Client,
  { baseUrl }: AuthRequest,
): Promise<AccessClaims | undefined> {
  const claims = await readCanonicalToken(ports, token, baseUrl)
  if (claims === undefined) return undefined
  const opened = tenantsOfToken(claims, ports.choices)
  // guard: introspection-of-own-tokens
  if (opened.length === 0 || (claims.client_id !== client.id && !isToldTo(client, opened))) return undefined
  return (await isTokenRevoked(ports, claims)) ? undefined : claims
}

// guard: introspection-needs-common-tenant
const isToldTo = ({ mayIntrospect, tenants }: Client, opened: readonly string[]): boolean =>
  mayIntrospect && intersectTenants(tenants, opened).length > 0

/**
 * Returns the response for a valid token. It has `fhirUser` as an absolute URL:
 * https://hl7.org/fhir/smart-app-launch/token-introspection.html
 */
const told = (claims: AccessClaims, { baseUrl }: AuthRequest) => ({
  active: true,
  ...claims,
  token_type: 'Bearer',
  username: claims.preferred_username ?? claims.sub,
  ...(claims.fhirUser === undefined ? {} : { fhirUser: `${baseUrl}/${claims.fhirUser}` }),
})
