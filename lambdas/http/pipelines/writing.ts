/** Steps of requests that write: create, update, patch, delete, and Bundles. */
import type { Steps } from '../pipeline.ts'
import { returnIndexToken } from '../steps/index-token.ts'
import { limitBody } from '../steps/limit-body.ts'
import { parsePatch } from '../steps/parse-patch.ts'
import { parseResource } from '../steps/parse-resource.ts'
import { checkWritesEnabled, type WriteMode } from '../steps/refuse.ts'
import { returnWarnings } from '../steps/tell-warnings.ts'
import { validateResource } from '../steps/validate-resource.ts'
import { type BodyStepParts, readingSteps } from './reading.ts'

export type WritingStepParts = BodyStepParts & { readonly writes: WriteMode }

export const writingSteps = (parts: WritingStepParts): Steps => ({
  ...readingSteps(parts),
  mayWrite: checkWritesEnabled(parts.writes),
  limitBody: limitBody(parts.maxBody),
  parseResource: parseResource(() => parts.clock.newId()),
  parsePatch,
  validateResource,
  tellWarnings: returnWarnings,
  tellIndexToken: returnIndexToken(parts.tokens, parts.report),
})
