/** FHIR vread. */
import { readingSteps } from '../http/pipelines/reading.ts'
import { vread } from '../interactions/vread.ts'
import { config, store } from '../runtime/aws.ts'
import { httpHandler, stepParts } from '../runtime/aws-handler.ts'

export const handler = httpHandler({
  interactions: { vread: vread({ resources: store(), choices: config() }) },
  steps: readingSteps(stepParts()),
})
