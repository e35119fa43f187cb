/**
 * Errors of the authorization server, sent as JSON. The codes are from OpenID Connect Core 3.1.2.6,
 * https://www.rfc-editor.org/rfc/rfc6749#section-5.2, https://www.rfc-editor.org/rfc/rfc6750#section-3.1 and
 * https://www.rfc-editor.org/rfc/rfc7591#section-3.2.2.
 */
import type { AuthResponse } from './endpoint.ts'

export type OAuthErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'invalid_scope'
  | 'invalid_target'
  | 'invalid_token'
  | 'invalid_redirect_uri'
  | 'invalid_client_metadata'
  | 'unauthorized_client'
  | 'unsupported_grant_type'
  | 'unsupported_response_type'
  | 'access_denied'
  | 'server_error'
  | 'temporarily_unavailable'
  | 'login_required'
  | 'consent_required'
  | 'interaction_required'
  | 'request_not_supported'
  | 'request_uri_not_supported'

/** Rejects a request. The client, or the user of a page, receives the description: it must contain no secrets and no personal data. */
export class OAuthError extends Error {
  readonly code: OAuthErrorCode
  readonly status: number
  readonly headers: Readonly<Record<string, string>>

  constructor(code: OAuthErrorCode, description: string, status = 400, headers: Readonly<Record<string, string>> = {}) {
    super(description)
    this.code = code
    this.status = status
    this.headers = headers
  }
}

/** Headers that forbid caches to store a response. https://www.rfc-editor.org/rfc/rfc6749#section-5.1 */
export const NO_STORE_HEADERS = { 'cache-control': 'no-store', pragma: 'no-cache' }

export const errorResponse = ({ code, message, status, headers }: OAuthError): AuthResponse =>
  jsonResponse(status, { error: code, error_description: message }, { ...NO_STORE_HEADERS, ...headers })

export const jsonResponse = (
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = NO_STORE_HEADERS,
): AuthResponse => ({
  status,
  headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
  body: JSON.stringify(body),
})
