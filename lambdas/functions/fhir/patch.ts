/** FHIR patch, also conditional. */
import { writingSteps } from '../http/pipelines/writing.ts'
import { patch } from '../interactions/patch.ts'
import { reading, seal } from '../runtime/aws.ts'
import { httpHandler } from '../runtime/aws-handler.ts'
import { bodyStepParts, writePorts } from '../runtime/aws-index.ts'

export const handler = httpHandler({
  interactions: { patch: patch(writePorts()) },
  steps: writingSteps(bodyStepParts()),
  reading: reading(),
  seal: seal(),
})
