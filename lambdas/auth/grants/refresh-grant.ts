/**
 * A refresh token for tokens, and for the next refresh token. One that comes twice was stolen, or its thief's came first: neither counts from
 * then on. https://www.rfc-editor.org/rfc/rfc6749#section-6, https://www.rfc-editor.org/rfc/rfc9700#section-4.14.2
 */
import { narrowedTo } from '../../access/scopes.ts'
import type { Authenticated } from '../clients/client-authentication.ts'
import type { AuthRequest, AuthResponse } from '../endpoint.ts'
import { OAuthError } from '../oauth-error.ts'
import { required, shownAll } from '../request-parameters.ts'
import { nextRefresh, refreshKindOf, refreshOf } from '../tokens/refresh-tokens.ts'
import type { UserGrant } from '../user-grant-type.ts'
import { wantedOf } from './granted-scopes.ts'
import { isOf, noLonger, revokeGrant, tokensFor, type UserGrantPorts, userOf } from './user-grant.ts'

/** OAuthError `invalid_grant`. */
export async function exchangeRefresh(
  ports: UserGrantPorts,
  { client, by, parameters }: Authenticated,
  request: AuthRequest,
): Promise<AuthResponse> {
  const found = await refreshOf(ports, required(parameters, 'refresh_token'))
  if (found === undefined || !isOf(client, found.grant)) throw noLonger()
  const { grant, known, issuedAt, half, isNewest } = found
  request.note({ user: grant.user })
  // guard: refresh-token-single-use
  if (!isNewest) return reused(ports, grant)
  const scopes = fewerOf(grant, parameters.get('scope'))
  const user = await userOf(ports, client, grant, issuedAt)
  const kind = refreshKindOf(grant, client)
  if (kind === undefined) throw noLonger()
  if (kind === 'online_access' && (await ports.grants.get('session', grant.session)) === undefined) throw noLonger()
  const refresh = nextRefresh(grant, kind, ports.clock.now(), half)
  const answer = await tokensFor(ports, grant, { client, by, user, scopes, refresh }, request)
  // It takes the place of the one that was sent last: where a machine fails before, that may be sent again.
  return (await ports.grants.replace('refresh', known, refresh.entry)) ? answer : reused(ports, grant)
}

/** OAuthError `invalid_scope` where more is asked for than was granted. */
function fewerOf({ scopes }: UserGrant, asked: string | undefined): readonly string[] {
  if (asked === undefined) return scopes
  const wanted = wantedOf(asked)
  const more = wanted.filter((scope) => !narrowedTo([scope], scopes).includes(scope))
  if (more.length > 0) throw new OAuthError('invalid_scope', `More is asked for than was granted: ${shownAll(more)}`)
  return wanted
}

async function reused(ports: UserGrantPorts, grant: UserGrant): Promise<never> {
  await revokeGrant(ports, grant)
  throw noLonger()
}
