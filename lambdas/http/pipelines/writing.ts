/** Steps of requests that write: create, update, patch, delete, and Bundles of all of them. */
import type { Steps } from '../pipeline.ts'
import { tellIndexToken } from '../steps/index-token.ts'
import { limitBody } from '../steps/limit-body.ts'
import { mayWrite, type Writes } from '../steps/may-write.ts'
import { parsePatch } from '../steps/parse-patch.ts'
import { parseResource } from '../steps/parse-resource.ts'
import { tellWarnings } from '../steps/tell-warnings.ts'
import { validateResource } from '../steps/validate-resource.ts'
import { type BodyStepParts, readingSteps } from './reading.ts'

export type WritingStepParts = BodyStepParts & { readonly writes: Writes }

export const writingSteps = (parts: WritingStepParts): Steps => ({
  ...readingSteps(parts),
  mayWrite: mayWrite(parts.writes),
  limitBody: limitBody(parts.maxBody),
  parseResource: parseResource(() => parts.clock.newId()),
  parsePatch,
  validateResource,
  tellWarnings,
  tellIndexToken: tellIndexToken(parts.tokens, parts.report),
})
