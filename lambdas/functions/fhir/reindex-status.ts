/** $reindex-status: index lag, custom search parameters, running rebuilds and unindexable versions. */
import { readingSteps } from '../../http/pipelines/reading.ts'
import { reindexStatus } from '../../interactions/operations/reindex.ts'
import { httpHandler, stepPartsWithoutPersons } from '../../runtime/aws/http-handler.ts'
import { indexProgress } from '../../runtime/aws/ports.ts'

export const handler = httpHandler<'reindex-status'>({
  interactions: { 'reindex-status': reindexStatus({ progress: indexProgress() }) },
  steps: readingSteps(stepPartsWithoutPersons()),
})
