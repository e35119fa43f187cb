/** Token revocation. https://www.rfc-editor.org/rfc/rfc7009 */
import type { Client } from '../../ports/rows/clients.ts'
import { authenticateClient } from '../clients/client-authentication.ts'
import type { AuthPorts, AuthRequest, Endpoint, VerifyingPorts } from '../endpoint.ts'
import { isClientOf, revokeGrant } from '../grants/user-grant.ts'
import { NO_STORE_HEADERS, OAuthError } from '../oauth-error.ts'
import { requireParameter } from '../request-parameters.ts'
import { findRefreshToken } from '../tokens/refresh-tokens.ts'
import { readToken } from '../tokens/signed-token.ts'

export type RevokePorts = VerifyingPorts & Pick<AuthPorts, 'clients' | 'grants' | 'revocations' | 'keySource'>

/**
 * Revokes a token of the authenticated client. Also returns 200, without a revocation, for a token of another client and for an unknown
 * one. A wrong secret or assertion is answered 400, not 401.
 */
export const revoke =
  (ports: RevokePorts): Endpoint =>
  async (request) => {
    const { client, parameters } = await authenticateClient(ports, request).catch(asBadRequest)
    const done = await revoked(ports, requireParameter(parameters, 'token'), client, request)
    request.note({ outcome: done ? 'revoked' : 'unknown token' })
    return { status: 200, headers: NO_STORE_HEADERS }
  }

function asBadRequest(error: unknown): never {
  throw error instanceof OAuthError && error.status === 401 ? new OAuthError(error.code, error.message) : error
}

/**
 * Revokes a token, and returns true if it is the client's own. An access token is revoked alone; a refresh token revokes everything of its
 * grant.
 */
async function revoked(ports: RevokePorts, token: string, client: Client, request: AuthRequest): Promise<boolean> {
  const claims = await readToken(ports, token, request.baseUrl)
  // guard: revocation-of-own-tokens
  if (claims?.client_id === client.id) {
    const until = claims.exp * 1000
    await ports.revocations.revoke({ mark: `jti:${claims.jti}`, before: until, until })
    return true
  }
  const refreshing = await findRefreshToken(ports, token)
  if (refreshing === undefined || !isClientOf(client, refreshing.grant)) return false
  request.note({ user: refreshing.grant.user })
  await revokeGrant(ports, refreshing.grant)
  return true
}
