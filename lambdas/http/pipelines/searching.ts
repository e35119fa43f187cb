/** Binds the steps of searches, and of operations that search. */
import type { Steps } from '../pipeline.ts'
import { awaitIndexToken } from '../steps/index-token.ts'
import { limitBody } from '../steps/limit-body.ts'
import { parseForm } from '../steps/parse-form.ts'
import { type BodyStepParts, readingSteps } from './reading.ts'

export const searchingSteps = (parts: BodyStepParts): Steps => ({
  ...readingSteps(parts),
  limitBody: limitBody(parts.maxBody),
  parseForm,
  awaitIndexToken: awaitIndexToken(parts.tokens),
})
