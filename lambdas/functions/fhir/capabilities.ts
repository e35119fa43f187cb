/** FHIR capabilities interaction: the CapabilityStatement. */
import { readingSteps } from '../../http/pipelines/reading.ts'
import { capabilities } from '../../interactions/capabilities/capabilities.ts'
import { httpHandler, stepPartsWithoutPersons } from '../../runtime/aws/http-handler.ts'
import { addedGuides, addedProfiles, clock, config, searchContexts } from '../../runtime/aws/ports.ts'

export const handler = httpHandler<'capabilities'>({
  interactions: { capabilities: capabilities({ clock: clock(), choices: config(), profilesOf: addedProfiles(), guidesOf: addedGuides() }) },
  steps: readingSteps(stepPartsWithoutPersons()),
  reading: searchContexts(),
})
