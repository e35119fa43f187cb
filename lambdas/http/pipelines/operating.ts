/** Steps of operations that are sent what they work on. */
import type { Steps } from '../pipeline.ts'
import { limitBody } from '../steps/limit-body.ts'
import { parseInput } from '../steps/parse-input.ts'
import { readingSteps, type StepParts } from './reading.ts'

/** `maxBody`: bytes. */
export const operatingSteps = (parts: StepParts & { readonly maxBody: number }): Steps => ({
  ...readingSteps(parts),
  limitBody: limitBody(parts.maxBody),
  parseInput,
})
