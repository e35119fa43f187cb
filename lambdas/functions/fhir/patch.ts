/** FHIR patch and conditional patch. */
import { writingSteps } from '../../http/pipelines/writing.ts'
import { patch } from '../../interactions/rest/patch.ts'
import { httpHandler } from '../../runtime/aws/http-handler.ts'
import { seal, searchContexts } from '../../runtime/aws/ports.ts'
import { bodyStepParts, writePorts } from '../../runtime/aws/search-index.ts'

export const handler = httpHandler<'patch'>({
  interactions: { patch: patch(writePorts()) },
  steps: writingSteps(bodyStepParts()),
  reading: searchContexts(),
  seal: seal(),
})
