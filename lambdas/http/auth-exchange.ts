/** Converts between HTTP exchanges and the endpoints of the authorization server. */
import type { AuthRequest, AuthResponse } from '../auth/endpoint.ts'
import { OAuthError, type OAuthErrorCode } from '../auth/oauth-error.ts'
import type { FhirError } from '../fhir/outcome.ts'
import type { FhirResponse } from '../interactions/interaction.ts'
import type { Exchange } from './exchange.ts'
import { mediaTypeOf } from './media-types.ts'
import { normalizePath } from './route-table.ts'

/** Maximum fields of a form, more than any valid request has. A form with more is answered with the error `invalid_request`. */
const MOST_FIELDS = 200

export const authRequestOf = (exchange: Exchange): AuthRequest => ({
  method: exchange.http.method,
  path: normalizePath(exchange.http.path),
  query: exchange.fhir.parameters,
  form: formOf(exchange),
  body: exchange.http.body,
  headers: exchange.http.headers,
  address: exchange.http.address ?? '',
  baseUrl: exchange.site.baseUrl,
  requestId: exchange.requestId,
  note(facts) {
    exchange.noted = { ...exchange.noted, ...facts }
  },
})

/** Returns the fields of the form, or none if the body is not a form. Throws OAuthError if the form has too many fields. */
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

/** Converts a FhirError that a step threw before the endpoint ran to an OAuth error, which clients of the endpoints expect. */
export function oauthErrorOf({ status, headers, message }: FhirError): OAuthError {
  const code: OAuthErrorCode = CODES[status] ?? (status < 500 ? 'invalid_request' : 'server_error')
  return new OAuthError(code, message, status, headers)
}

const CODES: Readonly<Record<number, OAuthErrorCode>> = { 401: 'invalid_token', 403: 'access_denied', 503: 'temporarily_unavailable' }
