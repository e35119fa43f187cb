/** What the access of a request does not grant. https://hl7.org/fhir/R4/security.html#AccessDenied */
import { type FhirError, fhirError } from '../fhir/outcome.ts'

export const forbidden = (text: string): FhirError => fhirError(403, 'forbidden', text)

/** `Observation.s`: what a scope would have to say. */
export const outOfScope = (type: string, letter: string): FhirError =>
  forbidden(`This needs a scope for ${type}.${letter}, such as system/${type}.${letter}`)
