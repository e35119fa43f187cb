/** FHIR read. */
import { readingSteps } from '../http/pipelines/reading.ts'
import { read } from '../interactions/read.ts'
import { progress, resources } from '../runtime/aws.ts'
import { httpHandler, stepParts } from '../runtime/aws-handler.ts'

export const handler = httpHandler({
  interactions: { read: read({ resources: resources(), progress: progress() }) },
  steps: readingSteps(stepParts()),
})
