/**
 * Exchange of a refresh token for an access token and the next refresh token. If a token is used twice, one of the uses may be a thief's,
 * so the server revokes the grant. https://www.rfc-editor.org/rfc/rfc6749#section-6, https://www.rfc-editor.org/rfc/rfc9700#section-4.14.2
 */
import { narrowScopes } from '../../access/scopes.ts'
import type { AuthenticatedClient } from '../clients/client-authentication.ts'
import type { AuthRequest, AuthResponse } from '../endpoint.ts'
import { OAuthError } from '../oauth-error.ts'
import { requireParameter, toDescriptionList } from '../request-parameters.ts'
import { createRefreshToken, findRefreshToken, refreshKindOf } from '../tokens/refresh-tokens.ts'
import type { UserGrant } from '../user-grant-type.ts'
import { parseRequestedScopes } from './granted-scopes.ts'
import { invalidGrant, isClientOf, issueTokens, revokeGrant, type UserGrantPorts, userOf } from './user-grant.ts'

/**
 * Returns the next tokens. Throws OAuthError `invalid_grant` if the refresh token is not valid for this client, and revokes its grant if it
 * was used before.
 */
export async function exchangeRefreshToken(
  ports: UserGrantPorts,
  { client, by, parameters }: AuthenticatedClient,
  request: AuthRequest,
): Promise<AuthResponse> {
  const found = await findRefreshToken(ports, requireParameter(parameters, 'refresh_token'))
  if (found === undefined || !isClientOf(client, found.grant)) throw invalidGrant()
  const { grant, known, issuedAt, half, isNewest } = found
  request.note({ user: grant.user })
  // guard: refresh-token-single-use
  if (!isNewest) return reused(ports, grant)
  const scopes = fewerOf(grant, parameters.get('scope'))
  const user = await userOf(ports, client, grant, issuedAt)
  const kind = refreshKindOf(grant, client)
  if (kind === undefined) throw invalidGrant()
  if (kind === 'online_access' && (await ports.grants.get('session', grant.session)) === undefined) throw invalidGrant()
  const refresh = createRefreshToken(grant, kind, ports.clock.now(), half)
  const answer = await issueTokens(ports, grant, { client, by, user, scopes, refresh }, request)
  // Replace the previous refresh token after all other steps: if one of them ends with a machine fault, the client can send it again.
  return (await ports.grants.replace('refresh', known, refresh.entry)) ? answer : reused(ports, grant)
}

/**
 * Returns the requested scopes; without a request, all scopes of the grant. Throws OAuthError `invalid_scope` if a requested scope exceeds
 * the grant.
 */
function fewerOf({ scopes }: UserGrant, asked: string | undefined): readonly string[] {
  if (asked === undefined) return scopes
  const wanted = parseRequestedScopes(asked)
  const more = wanted.filter((scope) => !narrowScopes([scope], scopes).includes(scope))
  if (more.length > 0) throw new OAuthError('invalid_scope', `More is asked for than was granted: ${toDescriptionList(more)}`)
  return wanted
}

async function reused(ports: UserGrantPorts, grant: UserGrant): Promise<never> {
  await revokeGrant(ports, grant)
  throw invalidGrant()
}
