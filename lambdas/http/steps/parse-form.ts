/** Search by POST: parameters of the form follow those of the URL. https://hl7.org/fhir/R4/http.html#search */
import { fhirError } from '../../fhir/outcome.ts'
import type { Step } from '../exchange.ts'
import { mediaTypeOf } from '../media-types.ts'

export const parseForm: Step = {
  before({ event: exchange }) {
    const { http } = exchange
    if (http.method !== 'POST') return
    const type = http.headers['content-type']
    if (http.body.length > 0 && (type === undefined || mediaTypeOf(type).type !== 'application/x-www-form-urlencoded'))
      throw fhirError(415, 'not-supported', 'The parameters of a search by POST are sent as application/x-www-form-urlencoded')
    const form = new URLSearchParams(new TextDecoder().decode(http.body))
    exchange.fhir = { ...exchange.fhir, posted: true, parameters: [...exchange.fhir.parameters, ...form] }
  },
}
