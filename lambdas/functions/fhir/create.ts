/** FHIR create and conditional create. */
import { writingSteps } from '../../http/pipelines/writing.ts'
import { create } from '../../interactions/rest/create.ts'
import { httpHandler } from '../../runtime/aws/http-handler.ts'
import { seal, searchContexts } from '../../runtime/aws/ports.ts'
import { bodyStepParts, writePorts } from '../../runtime/aws/search-index.ts'

export const handler = httpHandler<'create'>({
  interactions: { create: create(writePorts()) },
  steps: writingSteps(bodyStepParts()),
  reading: searchContexts(),
  seal: seal(),
})
