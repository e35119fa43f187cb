/** Warnings of what was written, in the place of the body: to who asked for an OperationOutcome, and whoever asks where it has to be known. */
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
