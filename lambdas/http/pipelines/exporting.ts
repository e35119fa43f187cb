/** Steps of requests that start an export. */
import type { Steps } from '../pipeline.ts'
import { limitBody } from '../steps/limit-body.ts'
import { parseKickOff } from '../steps/parse-kick-off.ts'
import { readingSteps, type StepParts } from './reading.ts'

/** `maxBody`: maximum bytes of a request body. A longer body is answered 413. */
export const exportingSteps = (parts: StepParts & { readonly maxBody: number }): Steps => ({
  ...readingSteps(parts),
  limitBody: limitBody(parts.maxBody),
  parseKickOff,
})
