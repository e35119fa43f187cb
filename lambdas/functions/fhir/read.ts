/** FHIR read. */
import { readingSteps } from '../../http/pipelines/reading.ts'
import { readTenant } from '../../interactions/resources/union-read.ts'
import { read } from '../../interactions/rest/read.ts'
import { httpHandler, stepParts } from '../../runtime/aws/http-handler.ts'
import { indexProgress, resources, store } from '../../runtime/aws/ports.ts'

export const handler = httpHandler<'read'>({
  interactions: { read: read({ resources: resources(), progress: indexProgress() }) },
  steps: readingSteps({ ...stepParts(), readTenant: readTenant({ resources: resources(), stored: store() }) }),
})
