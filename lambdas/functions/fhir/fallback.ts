/** What no route matches: preflight requests of browsers, and methods a path does not have. */
import { readingSteps } from '../../http/pipelines/reading.ts'
import { httpHandler, publicStepParts } from '../../runtime/aws/http-handler.ts'

export const handler = httpHandler({ steps: readingSteps(publicStepParts()) })
