/** $reindex: makes the documents of types again. */
import { readingSteps } from '../http/pipelines/reading.ts'
import { startReindex } from '../interactions/reindex.ts'
import { httpHandler, stepParts } from '../runtime/aws-handler.ts'
import { reindex } from '../runtime/aws-indexing.ts'

export const handler = httpHandler({
  interactions: { reindex: startReindex({ reindex: reindex() }) },
  steps: readingSteps(stepParts()),
})
