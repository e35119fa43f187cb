/** Exchange of an authorization code for tokens. https://www.rfc-editor.org/rfc/rfc6749#section-4.1.3 */
import type { AuthenticatedClient } from '../clients/client-authentication.ts'
import type { AuthPorts, AuthRequest, AuthResponse } from '../endpoint.ts'
import { OAuthError } from '../oauth-error.ts'
import { createRandomSecret, fingerprintOf } from '../random-secret.ts'
import { requireParameter } from '../request-parameters.ts'
import { createRefreshToken, refreshKindOf } from '../tokens/refresh-tokens.ts'
import type { UserGrant } from '../user-grant-type.ts'
import { checkVerifier, refuseEmptyPkce } from './pkce.ts'
import { invalidGrant, isClientOf, issueTokens, revokeGrant, type UserGrantPorts, userOf } from './user-grant.ts'

/** Stored authorization code. `issuedAt`: milliseconds since 1970. */
type Code = {
  readonly grant: UserGrant
  readonly redirectUri: string
  readonly challenge?: string
  readonly nonce?: string
  readonly issuedAt: number
  readonly used: boolean
}

/** How long a code is valid, in milliseconds. A later use is rejected. */
const LIFE = 10 * 60 * 1000
/** How long a code is retained, in milliseconds: longer than it is valid, so that a second use is detected. */
const REMEMBERED = 24 * 60 * 60 * 1000

export async function makeCode(
  { grants, clock }: Pick<AuthPorts, 'grants' | 'clock'>,
  made: Omit<Code, 'issuedAt' | 'used'>,
): Promise<string> {
  const code = createRandomSecret()
  const value: Code = { ...made, issuedAt: clock.now(), used: false }
  await grants.add('code', fingerprintOf(code), { owner: '', value, expires: clock.now() + REMEMBERED })
  return code
}

/**
 * Returns tokens for a code. Throws OAuthError `invalid_grant` if the code is not valid for this client and redirect URI. A second use
 * revokes everything issued for the code.
 */
export async function exchangeCode(
  ports: UserGrantPorts,
  { client, by, parameters }: AuthenticatedClient,
  request: AuthRequest,
): Promise<AuthResponse> {
  refuseEmptyPkce(request.form, ports.choices)
  const [code, redirectUri] = [requireParameter(parameters, 'code'), requireParameter(parameters, 'redirect_uri')]
  const known = await ports.grants.get('code', fingerprintOf(code))
  const value = known?.value as Code | undefined
  if (known === undefined || value === undefined || !isClientOf(client, value.grant)) throw invalidGrant()
  const { grant, challenge, nonce, issuedAt } = value
  request.note({ user: grant.user })
  // guard: authorization-code-single-use
  if (value.used) return reused(ports, grant)
  if (ports.clock.now() >= issuedAt + LIFE) throw invalidGrant()
  // guard: code-bound-to-redirect-uri
  if (redirectUri !== value.redirectUri) throw new OAuthError('invalid_grant', 'redirect_uri is not that of the authorization request')
  checkVerifier(parameters, challenge, ports.choices)
  const user = await userOf(ports, client, grant, issuedAt)
  const kind = refreshKindOf(grant, client)
  const refresh = kind === undefined ? undefined : createRefreshToken(grant, kind, ports.clock.now())
  const answer = await issueTokens(ports, grant, { client, by, user, refresh, ...(nonce === undefined ? {} : { nonce }) }, request)
  // Mark the code as used after all other steps: if one of them ends with a machine fault, the client can send the code again.
  if (refresh !== undefined) await ports.grants.add('refresh', refresh.key, refresh.entry)
  const used = { ...known, value: { ...value, used: true } }
  return (await ports.grants.replace('code', known, used)) ? answer : reused(ports, grant)
}

async function reused(ports: UserGrantPorts, grant: UserGrant): Promise<never> {
  await revokeGrant(ports, grant)
  throw invalidGrant()
}
