/** $reindex-status: the custom search parameters and the progress of index rebuilds. */
import { readingSteps } from '../../http/pipelines/reading.ts'
import { reindexStatus } from '../../interactions/operations/reindex.ts'
import { httpHandler, stepPartsWithoutPersons } from '../../runtime/aws/http-handler.ts'
import { indexProgress } from '../../runtime/aws/ports.ts'

export const handler = httpHandler<'reindex-status'>({
  interactions: { 'reindex-status': reindexStatus({ progress: indexProgress() }) },
  steps: readingSteps(stepPartsWithoutPersons()),
})
