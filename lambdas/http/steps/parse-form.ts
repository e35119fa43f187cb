/** Search by POST: parameters of the form follow those of the URL. https://hl7.org/fhir/R4/http.html#search */
import { fhirError } from '../../fhir/outcome.ts'
import { MAX_SEARCH_PARAMETERS } from '../../search/query/parameter-pairs.ts'
import type { Step } from '../exchange.ts'
import { mediaTypeOf } from '../media-types.ts'

export const parseForm: Step = {
  before({ event: exchange }) {
    const { http } = exchange
    if (http.method !== 'POST') return
    const type = http.headers['content-type']
    if (http.body.length > 0 && (type === undefined || mediaTypeOf(type).type !== 'application/x-www-form-urlencoded'))
      throw fhirError(415, 'not-supported', 'The parameters of a search by POST are sent as application/x-www-form-urlencoded')
    checkLength(http.body)
    const form = new URLSearchParams(new TextDecoder().decode(http.body))
    exchange.fhir = { ...exchange.fhir, posted: true, parameters: [...exchange.fhir.parameters, ...form] }
  },
}

/** Maximum bytes of a form, enough for the maximum of 10,000 values with 200 bytes each. A longer form is answered 413. */
const LONGEST = 2_000_000
const AMPERSAND = 38

/** Throws FhirError 413 for a form with too many bytes or parameters, before it is decoded. */
function checkLength(form: Uint8Array): void {
  if (form.length > LONGEST) throw fhirError(413, 'too-long', `The form of a search has at most ${LONGEST} bytes`)
  let count = 1
  for (let at = form.indexOf(AMPERSAND); at !== -1; at = form.indexOf(AMPERSAND, at + 1))
    if (++count > MAX_SEARCH_PARAMETERS)
      throw fhirError(413, 'too-costly', `The form of a search has at most ${MAX_SEARCH_PARAMETERS} parameters`)
}
