/** Steps of requests to the authorization server. */
import type { Steps } from '../pipeline.ts'
import { limitBody } from '../steps/limit-body.ts'
import { readingSteps, type StepParts } from './reading.ts'

/** Bytes: a form with an assertion in it is much shorter. */
const LONGEST_FORM = 64 * 1024

export const authorizingSteps = (parts: StepParts): Steps => ({ ...readingSteps(parts), limitForm: limitBody(LONGEST_FORM) })
