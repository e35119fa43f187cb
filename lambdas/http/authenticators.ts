/** Who is let in, by the setting `access`: whoever has a token, a name at the gateway, or a way to this machine. */
import { checkDefaultTenant } from '../access/verification/tenant-claim.ts'
import { misplacedTokenError } from '../access/verification/token-errors.ts'
import { implicitToken, type VerifiedToken } from '../access/verification/verified-token.ts'
import { fhirError } from '../fhir/outcome.ts'
import { parseParameterPairs } from '../search/query/parameter-pairs.ts'
import type { HttpRequest } from './exchange.ts'
import type { Authenticator } from './steps/authenticate.ts'

/** Nobody is asked who they are: only for a server that this machine alone can reach. */
export const openAuthenticator: Authenticator = ({ headers }) => inOnlyTenant(OPEN, headers)

const OPEN = implicitToken('open')

function inOnlyTenant(token: VerifiedToken, headers: HttpRequest['headers']): VerifiedToken {
  checkDefaultTenant(token.tenant, headers['x-tenant-id'])
  return token
}

/** The gateway has verified a signature, and says whose it is. Where it says nothing, it has not, and nobody is let in. */
export const gatewayAuthenticator: Authenticator = ({ arn, headers }) => {
  if (arn === undefined) throw fhirError(403, 'forbidden', 'The gateway does not say who asks')
  return inOnlyTenant(implicitToken(arn), headers)
}

/** Gets the header Authorization, and X-Tenant-Id where it was sent. */
export type VerifyToken = (authorization: string, tenant: string | undefined) => Promise<VerifiedToken>

/** https://www.rfc-editor.org/rfc/rfc6750#section-2: in the URL, a token would stand in logs and histories. */
export const tokenAuthenticator =
  (verify: VerifyToken): Authenticator =>
  ({ query, headers: { authorization, 'x-tenant-id': tenant } }) => {
    if (parseParameterPairs(query).some(([name]) => name === 'access_token'))
      throw misplacedTokenError('An access token belongs into the header Authorization, never into a URL')
    return authorization === undefined ? undefined : verify(authorization, tenant)
  }
