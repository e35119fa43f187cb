/** Steps of kick-offs of exports. */
import type { Steps } from '../pipeline.ts'
import { limitBody } from '../steps/limit-body.ts'
import { parseKickOff } from '../steps/parse-kick-off.ts'
import { readingSteps, type StepParts } from './reading.ts'

/** `maxBody`: bytes. */
export const exportingSteps = (parts: StepParts & { readonly maxBody: number }): Steps => ({
  ...readingSteps(parts),
  limitBody: limitBody(parts.maxBody),
  parseKickOff,
})
