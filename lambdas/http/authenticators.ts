/** Authenticators, one per value of the setting `access`: access token, identity from the gateway, or open mode. */
import { checkDefaultTenant } from '../access/verification/tenant-claim.ts'
import { misplacedTokenError } from '../access/verification/token-errors.ts'
import { implicitToken, type VerifiedToken } from '../access/verification/verified-token.ts'
import { fhirError } from '../fhir/outcome.ts'
import { parseParameterPairs } from '../search/query/parameter-pairs.ts'
import type { HttpRequest } from './exchange.ts'
import type { Authenticator } from './steps/authenticate.ts'

/**
 * Identifies every request as the client `open`, regardless of credentials. Throws FhirError if X-Tenant-Id names another tenant than the
 * default. Safe only if no other machine can reach the server.
 */
export const openAuthenticator: Authenticator = ({ headers }) => inOnlyTenant(OPEN, headers)

const OPEN = implicitToken('open')

function inOnlyTenant(token: VerifiedToken, headers: HttpRequest['headers']): VerifiedToken {
  checkDefaultTenant(token.tenant, headers['x-tenant-id'])
  return token
}

/** Accepts the identity whose signature the gateway has verified. Throws FhirError 403 if the gateway names none. */
export const gatewayAuthenticator: Authenticator = ({ arn, headers }) => {
  if (arn === undefined) throw fhirError(403, 'forbidden', 'The gateway did not name the caller')
  return inOnlyTenant(implicitToken(arn), headers)
}

/**
 * Verifies an access token. `authorization`: value of the header Authorization. `tenant`: value of X-Tenant-Id; undefined if it was not
 * sent.
 */
export type VerifyToken = (authorization: string, tenant: string | undefined) => Promise<VerifiedToken>

/**
 * Verifies the token in the header Authorization. Rejects a token in the URL, because logs and browser histories would store it.
 * https://www.rfc-editor.org/rfc/rfc6750#section-2
 */
export const tokenAuthenticator =
  (verify: VerifyToken): Authenticator =>
  ({ query, headers: { authorization, 'x-tenant-id': tenant } }) => {
    if (parseParameterPairs(query).some(([name]) => name === 'access_token'))
      throw misplacedTokenError('An access token belongs into the header Authorization, never into a URL')
    return authorization === undefined ? undefined : verify(authorization, tenant)
  }
