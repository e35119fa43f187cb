/**
 * Checks that the resource to write has the type in its URL and the structure that R4 defines. Throws FhirError 400 with all issues.
 * https://hl7.org/fhir/R4/validation.html
 */
import { FhirError } from '../../fhir/outcome.ts'
import { structureIssuesOf } from '../../interactions/validation/structure-findings.ts'
import { bodyOf } from '../../interactions/writing/request-body.ts'
import { andThen } from '../../interactions/writing/write-loop.ts'
import type { Step } from '../exchange.ts'

export const validateResource: Step = {
  before({ event: { fhir } }) {
    return andThen(structureIssuesOf(bodyOf(fhir)), (issues) => {
      if (issues.length > 0) throw new FhirError(400, issues)
    })
  },
}
