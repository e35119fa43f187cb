/** Rejects bodies above the limit, bodies with a Content-Encoding, and text that the gateway may have changed. */
import type { InteractionCode } from '../../catalogue/catalogue.ts'
import { fhirError } from '../../fhir/outcome.ts'
import type { Step } from '../exchange.ts'

/**
 * Maximum bytes of a body for the authorization server. A longer one is answered 413. Valid forms, even with an assertion, are much
 * shorter.
 */
export const MAX_FORM_BYTES = 64 * 1024

/** Character that API Gateway writes for bytes that are not UTF-8. */
const REPLACEMENT = '\ufffd'
const REPLACED =
  'The body contains U+FFFD. API Gateway writes this character in place of bytes that are not UTF-8, so the body may differ from what was sent. Nothing was changed. Send text as UTF-8, write the character as \\ufffd in JSON, and send other content in a Binary as JSON'

/** Operations with a list of members, which a client may divide into several requests. */
const DIVISIBLE: ReadonlySet<string> = new Set<InteractionCode>(['bulk-member-match', 'provider-member-match'])

/** `limit`: maximum bytes of a body. Longer bodies are answered 413. */
export const limitBody = (limit: number): Step => ({
  before({ event: { http, interaction } }) {
    const advice = DIVISIBLE.has(interaction) ? '. Send several requests, each with a part of the members' : ''
    // guard: body-size-limit
    if (http.bodyTooLong || http.body.length > limit) throw fhirError(413, 'too-long', `The body is longer than ${limit} bytes${advice}`)
    const encoding = http.headers['content-encoding'] ?? 'identity'
    if (encoding !== 'identity') throw fhirError(415, 'not-supported', 'Bodies are read without Content-Encoding only')
    // guard: replaced-bytes-are-refused
    if (http.cameAsText && Buffer.from(http.body.buffer, http.body.byteOffset, http.body.length).includes(REPLACEMENT))
      throw fhirError(415, 'not-supported', REPLACED)
  },
})
