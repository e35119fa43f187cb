/** FHIR batch and transaction, whose entries may be any interaction. */
import { performer } from '../../http/entry-runner.ts'
import { searchingSteps } from '../../http/pipelines/searching.ts'
import { writingSteps } from '../../http/pipelines/writing.ts'
import { bundle } from '../../interactions/bundle/bundle.ts'
import { entryInteractions } from '../../interactions/bundle/entry-interactions.ts'
import { entryInTime } from '../../runtime/aws/deadlines.ts'
import { httpHandler } from '../../runtime/aws/http-handler.ts'
import { addedProfiles, blobs, progress, reading, seal } from '../../runtime/aws/ports.ts'
import { bodyStepParts, index, writePorts } from '../../runtime/aws/search-index.ts'

const ports = { ...writePorts(), index: index(), seal: seal(), blobs: blobs(), progress: progress(), profilesOf: addedProfiles() }
const parts = bodyStepParts()
const steps = { ...writingSteps(parts), ...searchingSteps(parts) }

export const handler = httpHandler({
  interactions: { bundle: bundle(ports, performer(entryInteractions(ports), steps, parts.report, entryInTime)) },
  steps,
  reading: reading(),
  seal: seal(),
})
