/** Steps of requests for export files. */
import type { Steps } from '../pipeline.ts'
import { sendFile } from '../steps/send-file.ts'
import { readingSteps, type StepParts } from './reading.ts'

export const downloadingSteps = (parts: StepParts): Steps => ({ ...readingSteps(parts), sendFile })
