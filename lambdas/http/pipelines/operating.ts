/** Steps of operations that work on the resource or the Parameters in the request. */
import type { Steps } from '../pipeline.ts'
import { limitBody } from '../steps/limit-body.ts'
import { parseInput } from '../steps/parse-input.ts'
import { readingSteps, type StepParts } from './reading.ts'

/**
 * Creates the steps of operations on the resource or Parameters in the request. `maxBody`: maximum bytes of a request body. A longer body is
 * answered 413.
 */
export const operatingSteps = (parts: StepParts & { readonly maxBody: number }): Steps => ({
  ...readingSteps(parts),
  limitBody: limitBody(parts.maxBody),
  parseInput,
})
