/** FHIR vread. */
import { readingSteps } from '../http/pipelines/reading.ts'
import { vread } from '../interactions/vread.ts'
import { config, resources } from '../runtime/aws.ts'
import { httpHandler, stepParts } from '../runtime/aws-handler.ts'

export const handler = httpHandler({
  interactions: { vread: vread({ resources: resources(), choices: config() }) },
  steps: readingSteps(stepParts()),
})
