/** Answers requests without a route: preflight requests of browsers, unknown paths, and methods that a path does not support. */
import { readingSteps } from '../../http/pipelines/reading.ts'
import { httpHandler, publicStepParts } from '../../runtime/aws/http-handler.ts'

export const handler = httpHandler<'fallback'>({ steps: readingSteps(publicStepParts()) })
