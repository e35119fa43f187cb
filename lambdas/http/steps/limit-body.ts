/** Refuses bodies over the limit and encodings the server does not read. */
import { fhirError } from '../../fhir/outcome.ts'
import type { Step } from '../exchange.ts'

/** Bytes of a body for the authorization server: a form with an assertion in it is much shorter. */
export const LONGEST_FORM = 64 * 1024

/** `limit`: bytes. */
export const limitBody = (limit: number): Step => ({
  before({ event: { http } }) {
    // guard: body-size-limit
    if (http.bodyTooLong || http.body.length > limit) throw fhirError(413, 'too-long', `The body is longer than ${limit} bytes`)
    const encoding = http.headers['content-encoding'] ?? 'identity'
    if (encoding !== 'identity') throw fhirError(415, 'not-supported', 'Bodies are read without Content-Encoding only')
  },
})
