/** A resource that is written has the structure R4 gives its type: 400 with every finding. https://hl7.org/fhir/R4/validation.html */
import { FhirError } from '../../fhir/outcome.ts'
import { findingsOf } from '../../interactions/findings-of.ts'
import { andThen } from '../../interactions/writing.ts'
import type { Step } from '../exchange.ts'

export const validateResource: Step = {
  before({ event: { fhir } }) {
    if (fhir.resource === undefined) return
    return andThen(findingsOf(fhir.resource), (issues) => {
      if (issues.length > 0) throw new FhirError(400, issues)
    })
  },
}
