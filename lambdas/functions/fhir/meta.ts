/** $meta of a resource, a type and the whole system. */
import { operatingSteps } from '../../http/pipelines/operating.ts'
import { searchingSteps } from '../../http/pipelines/searching.ts'
import { meta } from '../../interactions/operations/meta.ts'
import { httpHandler } from '../../runtime/aws/http-handler.ts'
import { resources, seal, searchContexts } from '../../runtime/aws/ports.ts'
import { bodyStepParts, index } from '../../runtime/aws/search-index.ts'

const parts = bodyStepParts()

export const handler = httpHandler<'meta'>({
  interactions: { meta: meta({ resources: resources(), index: index() }) },
  steps: { ...searchingSteps(parts), ...operatingSteps(parts) },
  reading: searchContexts(),
  seal: seal(),
})
