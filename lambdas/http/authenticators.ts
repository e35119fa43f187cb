/** Who is let in, by the setting `access`: whoever has a token, a name at the gateway, or a way to this machine. */
import { onlyTenant } from '../access/verification/tenant-claim.ts'
import { tokenMisplaced } from '../access/verification/token-errors.ts'
import { type VerifiedToken, withoutToken } from '../access/verification/verified-token.ts'
import { fhirError } from '../fhir/outcome.ts'
import { pairsOf } from '../search/query/parameter-pairs.ts'
import type { HttpRequest } from './exchange.ts'
import type { Authenticator } from './steps/authenticate.ts'

/** Nobody is asked who they are: only for a server that this machine alone can reach. */
export const openToAll: Authenticator = ({ headers }) => inOnlyTenant(OPEN, headers)

const OPEN = withoutToken('open')

function inOnlyTenant(token: VerifiedToken, headers: HttpRequest['headers']): VerifiedToken {
  onlyTenant(token.tenant, headers['x-tenant-id'])
  return token
}

/** The gateway has verified a signature, and says whose it is. Where it says nothing, it has not, and nobody is let in. */
export const namedByGateway: Authenticator = ({ arn, headers }) => {
  if (arn === undefined) throw fhirError(403, 'forbidden', 'The gateway does not say who asks')
  return inOnlyTenant(withoutToken(arn), headers)
}

/** Gets the header Authorization, and X-Tenant-Id where it was sent. */
export type Verify = (authorization: string, tenant: string | undefined) => Promise<VerifiedToken>

/** https://www.rfc-editor.org/rfc/rfc6750#section-2: in the URL, a token would stand in logs and histories. */
export const byToken =
  (verify: Verify): Authenticator =>
  ({ query, headers: { authorization, 'x-tenant-id': tenant } }) => {
    if (pairsOf(query).some(([name]) => name === 'access_token'))
      throw tokenMisplaced('An access token belongs into the header Authorization, never into a URL')
    return authorization === undefined ? undefined : verify(authorization, tenant)
  }
