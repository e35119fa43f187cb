/** $everything for one patient. */
import { operatingSteps } from '../../http/pipelines/operating.ts'
import { searchingSteps } from '../../http/pipelines/searching.ts'
import { everything } from '../../interactions/operations/everything.ts'
import { httpHandler } from '../../runtime/aws/http-handler.ts'
import { blobs, clock, resources, seal, searchContexts } from '../../runtime/aws/ports.ts'
import { bodyStepParts, index } from '../../runtime/aws/search-index.ts'

const parts = bodyStepParts()

export const handler = httpHandler<'everything'>({
  interactions: { everything: everything({ resources: resources(), index: index(), clock: clock(), seal: seal(), blobs: blobs() }) },
  steps: { ...searchingSteps(parts), ...operatingSteps(parts) },
  reading: searchContexts(),
  seal: seal(),
})
