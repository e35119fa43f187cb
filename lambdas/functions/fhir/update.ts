/** FHIR update and conditional update. */
import { writingSteps } from '../../http/pipelines/writing.ts'
import { update } from '../../interactions/rest/update.ts'
import { httpHandler } from '../../runtime/aws/http-handler.ts'
import { seal, searchContexts } from '../../runtime/aws/ports.ts'
import { bodyStepParts, writePorts } from '../../runtime/aws/search-index.ts'

export const handler = httpHandler<'update'>({
  interactions: { update: update(writePorts()) },
  steps: writingSteps(bodyStepParts()),
  reading: searchContexts(),
  seal: seal(),
})
