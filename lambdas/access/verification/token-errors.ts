/** What is said to who is not let in. https://www.rfc-editor.org/rfc/rfc6750#section-3 */
import { FhirError } from '../../fhir/outcome.ts'

const REALM = 'Bearer realm="fhir"'

/** Nothing was sent that could say who asks: no error is named. */
export const missingTokenError = (): FhirError => refusal(401, 'Send an access token: Authorization: Bearer …', REALM)

/** `why`: ASCII without quotes and backslashes, and nothing of the token. */
export const invalidTokenError = (why: string): FhirError => challenge(401, 'invalid_token', why)

/** The request itself is wrong: tokens stand in one header, and nowhere else. */
export const misplacedTokenError = (why: string): FhirError => challenge(400, 'invalid_request', why)

const challenge = (status: 400 | 401, error: string, why: string): FhirError =>
  refusal(status, why, `${REALM}, error="${error}", error_description="${why}"`)

const refusal = (status: 400 | 401, text: string, challenge: string): FhirError =>
  new FhirError(status, [{ severity: 'error', code: 'login', text }], { 'www-authenticate': challenge })
