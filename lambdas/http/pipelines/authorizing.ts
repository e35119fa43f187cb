/** Steps of requests to the authorization server. */
import type { Steps } from '../pipeline.ts'
import { LONGEST_FORM, limitBody } from '../steps/limit-body.ts'
import { readingSteps, type StepParts } from './reading.ts'

export const authorizingSteps = (parts: StepParts): Steps => ({ ...readingSteps(parts), limitForm: limitBody(LONGEST_FORM) })
