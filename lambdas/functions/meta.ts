/** $meta of a resource, of a type, of everything. */
import { searchingSteps } from '../http/pipelines/searching.ts'
import { meta } from '../interactions/meta.ts'
import { reading, resources, seal } from '../runtime/aws.ts'
import { httpHandler } from '../runtime/aws-handler.ts'
import { bodyStepParts, index } from '../runtime/aws-index.ts'

export const handler = httpHandler({
  interactions: { meta: meta({ resources: resources(), index: index() }) },
  steps: searchingSteps(bodyStepParts()),
  reading: reading(),
  seal: seal(),
})
