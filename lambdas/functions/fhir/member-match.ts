/** $member-match of another payer. */
import { operatingSteps } from '../../http/pipelines/operating.ts'
import { writingSteps } from '../../http/pipelines/writing.ts'
import { memberMatch } from '../../interactions/operations/member-match.ts'
import { httpHandler } from '../../runtime/aws/http-handler.ts'
import { config, seal, searchContexts } from '../../runtime/aws/ports.ts'
import { bodyStepParts, writePorts } from '../../runtime/aws/search-index.ts'

const parts = bodyStepParts()

export const handler = httpHandler<'member-match'>({
  interactions: { 'member-match': memberMatch({ ...writePorts(), choices: config() }) },
  steps: { ...writingSteps(parts), ...operatingSteps(parts) },
  reading: searchContexts(),
  seal: seal(),
})
