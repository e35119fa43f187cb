/** Checks of a received access token of this server, beside its signature: revocation and tenants. */
import type { AccessClaims } from '../../access/claims.ts'
import { isBase64Url } from '../../access/verification/bearer-token.ts'
import { type RevocationKey, type RevocationReader, revocationKeyOf } from '../../ports/rows/revocations.ts'
import { DEFAULT_TENANT } from '../../ports/store/tenants.ts'
import type { AuthChoices, VerifyingPorts } from '../endpoint.ts'
import { filterServedTenants } from '../tenant-intersection.ts'
import { isRevoked } from './revocation-check.ts'
import { readToken } from './signed-token.ts'

/**
 * Like `readToken`. Also rejects a token with a space or a newline, as FHIR requests do. The library may ignore such characters.
 */
export const readCanonicalToken = async (ports: VerifyingPorts, token: string, baseUrl: string): Promise<AccessClaims | undefined> =>
  token.split('.').every(isBase64Url) ? await readToken(ports, token, baseUrl) : undefined

/** Whether the token, or the token that was exchanged for it, is revoked by one of its keys. */
export function isTokenRevoked({ revocations }: { readonly revocations: RevocationReader }, claims: AccessClaims): Promise<boolean> {
  const { jti, subject_jti, sid, client_id, sub, iat, client_generation, user_generation } = claims
  const keys: readonly RevocationKey[] = [
    ...[`jti:${jti}` as const, `sid:${sid}` as const],
    ...(subject_jti === undefined ? [] : [`jti:${subject_jti}` as const]),
    ...[revocationKeyOf('client', client_id, client_generation), revocationKeyOf('user', sub, user_generation)],
  ]
  return isRevoked(revocations, keys, iat * 1000)
}

/** Returns the tenants that the token opens on this server. If there are none, FHIR requests reject the token. */
export function tenantsOfToken(claims: AccessClaims, choices: AuthChoices): readonly string[] {
  const claim = claims[choices.tenantClaim] as string | readonly string[] | undefined
  return filterServedTenants(choices, [claim ?? (choices.tenancy ? [] : DEFAULT_TENANT)].flat())
}
