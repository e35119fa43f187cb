/** Errors for requests without a valid access token. https://www.rfc-editor.org/rfc/rfc6750#section-3 */
import { FhirError } from '../../fhir/outcome.ts'

const REALM = 'Bearer realm="fhir"'

/** Creates the error 401 for a request without a token. It has no error code, as RFC 6750 recommends. */
export const missingTokenError = (): FhirError => refusal(401, 'Send an access token: Authorization: Bearer …', REALM)

/**
 * Creates the error 401 for an invalid token. `reason` becomes part of a header: use ASCII without quotes and backslashes, and no part of
 * the token.
 */
export const invalidTokenError = (reason: string): FhirError => challenge(401, 'invalid_token', reason)

/** Creates the error 400 for a token outside the Authorization header: the request is malformed. */
export const misplacedTokenError = (reason: string): FhirError => challenge(400, 'invalid_request', reason)

const challenge = (status: 400 | 401, error: string, reason: string): FhirError =>
  refusal(status, reason, `${REALM}, error="${error}", error_description="${reason}"`)

const refusal = (status: 400 | 401, text: string, challenge: string): FhirError =>
  new FhirError(status, [{ severity: 'error', code: 'login', text }], { 'www-authenticate': challenge })
