/** Token endpoint. https://www.rfc-editor.org/rfc/rfc6749#section-3.2 */
import { authenticateClient } from '../clients/client-authentication.ts'
import type { Endpoint } from '../endpoint.ts'
import { exchangeCode } from '../grants/authorization-code-grant.ts'
import { exchangeClientCredentials } from '../grants/client-credentials-grant.ts'
import { exchangeRefreshToken } from '../grants/refresh-grant.ts'
import { exchangeToken, TOKEN_EXCHANGE, type TokenExchangePorts } from '../grants/token-exchange-grant.ts'
import { OAuthError } from '../oauth-error.ts'
import { requireParameter, toDescriptionText } from '../request-parameters.ts'

const GRANTS = { client_credentials: exchangeClientCredentials, authorization_code: exchangeCode, refresh_token: exchangeRefreshToken }

/** Grant types in the discovery documents. The token exchange is not listed: only the built-in client `explorer` may use it. */
export const GRANT_TYPES = Object.keys(GRANTS)

const ALL_GRANTS = { ...GRANTS, [TOKEN_EXCHANGE]: exchangeToken }

export const token =
  (ports: TokenExchangePorts): Endpoint =>
  async (request) => {
    const authenticated = await authenticateClient(ports, request)
    const type = requireParameter(authenticated.parameters, 'grant_type')
    if (!Object.hasOwn(ALL_GRANTS, type))
      throw new OAuthError('unsupported_grant_type', `grant_type ${toDescriptionText(type)} is not possible here`)
    if (authenticated.member !== undefined && type !== 'client_credentials')
      throw new OAuthError('invalid_request', 'sub of the assertion names a member: this requires grant_type client_credentials')
    const answer = await ALL_GRANTS[type as keyof typeof ALL_GRANTS](ports, authenticated, request)
    request.note({ outcome: type })
    return answer
  }
