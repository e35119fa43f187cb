/** FHIR search in a type, a compartment or the whole system, and $docref, which is a search. */
import { operatingSteps } from '../../http/pipelines/operating.ts'
import { searchingSteps } from '../../http/pipelines/searching.ts'
import { docref } from '../../interactions/operations/docref.ts'
import { search } from '../../interactions/rest/search.ts'
import { httpHandler } from '../../runtime/aws/http-handler.ts'
import { blobs, clock, expressions, resources, seal, searchContexts } from '../../runtime/aws/ports.ts'
import { bodyStepParts, index } from '../../runtime/aws/search-index.ts'

const ports = { resources: resources(), index: index(), clock: clock(), seal: seal(), blobs: blobs(), expressions: expressions() }
const searches = search(ports)
const parts = bodyStepParts()

export const handler = httpHandler<'search'>({
  interactions: { 'search-type': searches, 'search-system': searches, docref: docref(ports) },
  steps: { ...searchingSteps(parts), ...operatingSteps(parts) },
  reading: searchContexts(),
  seal: seal(),
})
