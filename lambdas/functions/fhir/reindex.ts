/** $reindex: starts a rebuild of the index documents of types. */
import { readingSteps } from '../../http/pipelines/reading.ts'
import { startReindex } from '../../interactions/operations/reindex.ts'
import { httpHandler, stepPartsWithoutPersons } from '../../runtime/aws/http-handler.ts'
import { reindex } from '../../runtime/aws/index-workers.ts'

export const handler = httpHandler<'reindex'>({
  interactions: { reindex: startReindex({ reindex: reindex() }) },
  steps: readingSteps(stepPartsWithoutPersons()),
})
