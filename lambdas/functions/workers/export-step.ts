/** The steps of the export workflow. */
import { step } from '../../runtime/aws/export-steps.ts'

export const handler = step
