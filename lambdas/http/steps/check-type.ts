/** Rejects a URL with a resource type that R4 does not define: FhirError 404. */
import { fhirError } from '../../fhir/outcome.ts'
import { isResourceType } from '../../fhir/resource-types.ts'
import type { Step } from '../exchange.ts'

export const checkType: Step = {
  before({ event: { fhir } }) {
    if (fhir.type !== undefined && !isResourceType(fhir.type))
      throw fhirError(404, 'not-supported', `There is no resource type ${fhir.type.slice(0, 64)} in FHIR R4`)
  },
}
