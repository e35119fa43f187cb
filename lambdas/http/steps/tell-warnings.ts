/** Returns the warnings of a write in place of the body, if the client prefers an OperationOutcome or `mustBeKnown` is true. */
import type { FhirResponse } from '../../interactions/interaction.ts'
import type { Step } from '../exchange.ts'

export const returnWarnings: Step = {
  after(request) {
    const { fhir } = request.event
    const response = request.response as FhirResponse
    const { warnings } = response
    if (warnings === undefined || !(warnings.mustBeKnown || fhir.preferences.return === 'OperationOutcome')) return
    request.response = { ...response, body: warnings.outcome }
  },
}
