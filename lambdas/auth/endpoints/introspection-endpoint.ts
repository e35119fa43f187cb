/** Token introspection: whether a token is valid, and its claims. https://www.rfc-editor.org/rfc/rfc7662 */
import type { AccessClaims } from '../../access/claims.ts'
import { isBase64Url } from '../../access/verification/bearer-token.ts'
import type { Client } from '../../ports/rows/clients.ts'
import { type RevocationKey, type RevocationReader, revocationKeyOf } from '../../ports/rows/revocations.ts'
import { DEFAULT_TENANT } from '../../ports/store/tenants.ts'
import { authenticateClient } from '../clients/client-authentication.ts'
import type { AuthChoices, AuthPorts, AuthRequest, Endpoint, VerifyingPorts } from '../endpoint.ts'
import { jsonResponse, OAuthError } from '../oauth-error.ts'
import { requireParameter } from '../request-parameters.ts'
import { filterServedTenants, intersectTenants } from '../tenant-intersection.ts'
import { isRevoked } from '../tokens/revocation-check.ts'
import { readToken } from '../tokens/signed-token.ts'

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
  // Rejects a token with a space or a newline, as FHIR requests do. The library may ignore such characters.
  const claims = token.split('.').every(isBase64Url) ? await readToken(ports, token, baseUrl) : undefined
  if (claims === undefined) return undefined
  const opened = tenantsIn(claims, ports.choices)
  // guard: introspection-of-own-tokens
  if (opened.length === 0 || (claims.client_id !== client.id && !isToldTo(client, opened))) return undefined
  const { jti, sid, client_id, sub, iat, client_generation, user_generation } = claims
  const marks: readonly RevocationKey[] = [
    ...[`jti:${jti}` as const, `sid:${sid}` as const],
    ...[revocationKeyOf('client', client_id, client_generation), revocationKeyOf('user', sub, user_generation)],
  ]
  return (await isRevoked(ports.revocations, marks, iat * 1000)) ? undefined : claims
}

/** Returns the tenants that the token opens on this server. If there are none, FHIR requests reject the token. */
function tenantsIn(claims: AccessClaims, choices: AuthChoices): readonly string[] {
  const claim = claims[choices.tenantClaim] as string | readonly string[] | undefined
  return filterServedTenants(choices, [claim ?? (choices.tenancy ? [] : DEFAULT_TENANT)].flat())
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
