/** Steps of requests to the authorization server. */
import type { Steps } from '../pipeline.ts'
import { limitBody, MAX_FORM_BYTES } from '../steps/limit-body.ts'
import { readingSteps, type StepParts } from './reading.ts'

export const authorizingSteps = (parts: StepParts): Steps => ({ ...readingSteps(parts), limitForm: limitBody(MAX_FORM_BYTES) })
