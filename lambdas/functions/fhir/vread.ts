/** FHIR vread. */
import { readingSteps } from '../../http/pipelines/reading.ts'
import { vread } from '../../interactions/rest/vread.ts'
import { httpHandler, stepParts } from '../../runtime/aws/http-handler.ts'
import { config, resources } from '../../runtime/aws/ports.ts'

export const handler = httpHandler<'vread'>({
  interactions: { vread: vread({ resources: resources(), choices: config() }) },
  steps: readingSteps(stepParts()),
})
