/** FHIR delete and conditional delete. */
import { writingSteps } from '../../http/pipelines/writing.ts'
import { deleteResource } from '../../interactions/rest/delete.ts'
import { httpHandler } from '../../runtime/aws/http-handler.ts'
import { seal, searchContexts } from '../../runtime/aws/ports.ts'
import { bodyStepParts, writePorts } from '../../runtime/aws/search-index.ts'

export const handler = httpHandler<'delete'>({
  interactions: { delete: deleteResource(writePorts()) },
  steps: writingSteps(bodyStepParts()),
  reading: searchContexts(),
  seal: seal(),
})
