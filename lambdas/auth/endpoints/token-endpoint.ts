/** Token endpoint. https://www.rfc-editor.org/rfc/rfc6749#section-3.2 */
import { authenticateClient } from '../clients/client-authentication.ts'
import type { AuthPorts, Endpoint } from '../endpoint.ts'
import { exchangeCode } from '../grants/authorization-code-grant.ts'
import { exchangeClientCredentials } from '../grants/client-credentials-grant.ts'
import { exchangeRefreshToken } from '../grants/refresh-grant.ts'
import type { UserGrantPorts } from '../grants/user-grant.ts'
import { OAuthError } from '../oauth-error.ts'
import { requireParameter, toDescriptionText } from '../request-parameters.ts'

const GRANTS = { client_credentials: exchangeClientCredentials, authorization_code: exchangeCode, refresh_token: exchangeRefreshToken }

export const GRANT_TYPES = Object.keys(GRANTS)

export const token =
  (ports: UserGrantPorts & Pick<AuthPorts, 'isDecidable'>): Endpoint =>
  async (request) => {
    const authenticated = await authenticateClient(ports, request)
    const type = requireParameter(authenticated.parameters, 'grant_type')
    if (!Object.hasOwn(GRANTS, type))
      throw new OAuthError('unsupported_grant_type', `grant_type ${toDescriptionText(type)} is not possible here`)
    const answer = await GRANTS[type as keyof typeof GRANTS](ports, authenticated, request)
    request.note({ outcome: type })
    return answer
  }
