/** Requests to the authorization server, between HTTP and its endpoints. */
import type { AuthRequest, AuthResponse } from '../auth/endpoint.ts'
import { OAuthError, type OAuthErrorCode } from '../auth/oauth-error.ts'
import type { FhirError } from '../fhir/outcome.ts'
import type { FhirResponse } from '../interactions/interaction.ts'
import type { Exchange } from './exchange.ts'
import { mediaTypeOf } from './media-types.ts'

/** More than any request has. */
const MOST_FIELDS = 200

export const authRequestOf = (exchange: Exchange): AuthRequest => ({
  method: exchange.http.method,
  query: exchange.fhir.parameters,
  form: formOf(exchange),
  headers: exchange.http.headers,
  address: exchange.http.address ?? '',
  baseUrl: exchange.site.baseUrl,
  requestId: exchange.requestId,
  note(facts) {
    exchange.noted = { ...exchange.noted, ...facts }
  },
})

/** Empty where the body is no form. */
function formOf({ http: { headers, body } }: Exchange): AuthRequest['form'] {
  if (mediaTypeOf(headers['content-type'] ?? '').type !== 'application/x-www-form-urlencoded') return []
  const text = new TextDecoder().decode(body)
  if (text.split('&', MOST_FIELDS + 1).length > MOST_FIELDS) throw new OAuthError('invalid_request', 'The form has too many fields')
  return [...new URLSearchParams(text)]
}

export const toFhirResponse = ({ status, headers, body }: AuthResponse): FhirResponse => ({
  status,
  headers,
  ...(body === undefined ? {} : { body: new TextEncoder().encode(body) }),
})

/** What was refused before an endpoint was asked, in their form. */
export function oauthErrorOf({ status, headers, message }: FhirError): OAuthError {
  const code: OAuthErrorCode = CODES[status] ?? (status < 500 ? 'invalid_request' : 'server_error')
  return new OAuthError(code, message, status, headers)
}

const CODES: Readonly<Record<number, OAuthErrorCode>> = { 403: 'access_denied', 503: 'temporarily_unavailable' }
