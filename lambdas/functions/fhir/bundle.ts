/** FHIR batch and transaction. Entries may read, search and write, so the function binds the steps of searches and writes. */
import { entryRunner } from '../../http/entry-runner.ts'
import { searchingSteps } from '../../http/pipelines/searching.ts'
import { writingSteps } from '../../http/pipelines/writing.ts'
import { bundle } from '../../interactions/bundle/bundle.ts'
import { entryInteractions } from '../../interactions/bundle/entry-interactions.ts'
import { withEntryDeadline } from '../../runtime/aws/deadlines.ts'
import { httpHandler } from '../../runtime/aws/http-handler.ts'
import { addedGuides, addedProfiles, blobs, seal, searchContexts } from '../../runtime/aws/ports.ts'
import { bodyStepParts, index, writePorts } from '../../runtime/aws/search-index.ts'

const ports = { ...writePorts(), index: index(), seal: seal(), blobs: blobs(), profilesOf: addedProfiles(), guidesOf: addedGuides() }
const parts = bodyStepParts()
const steps = { ...writingSteps(parts), ...searchingSteps(parts) }

export const handler = httpHandler<'bundle'>({
  interactions: { bundle: bundle(ports, entryRunner(entryInteractions(ports), steps, parts.report, withEntryDeadline)) },
  steps,
  reading: searchContexts(),
  seal: seal(),
})
