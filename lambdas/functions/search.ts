/** FHIR search on a type, in a compartment, on everything. */
import { searchingSteps } from '../http/pipelines/searching.ts'
import { search } from '../interactions/search.ts'
import { blobs, clock, expressions, reading, resources, seal } from '../runtime/aws.ts'
import { httpHandler } from '../runtime/aws-handler.ts'
import { bodyStepParts, index } from '../runtime/aws-index.ts'

const searches = search({
  resources: resources(),
  index: index(),
  clock: clock(),
  seal: seal(),
  blobs: blobs(),
  expressions: expressions(),
})

export const handler = httpHandler({
  interactions: { 'search-type': searches, 'search-system': searches },
  steps: searchingSteps(bodyStepParts()),
  reading: reading(),
  seal: seal(),
})
