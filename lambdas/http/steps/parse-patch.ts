/** Parses the body as a patch document. https://hl7.org/fhir/R4/http.html#patch */
import { parseJsonBytes } from '../../fhir/json.ts'
import { fhirError } from '../../fhir/outcome.ts'
import type { Step } from '../exchange.ts'
import { checkJson } from './parse-resource.ts'

export const parsePatch: Step = {
  before({ event: exchange }) {
    const { body, headers } = exchange.http
    checkJson(headers['content-type'], ['application/json-patch+json'])
    if (body.length === 0) throw fhirError(400, 'required', 'The request needs a patch as its body')
    exchange.fhir = { ...exchange.fhir, patch: parseJsonBytes(body) }
  },
}
