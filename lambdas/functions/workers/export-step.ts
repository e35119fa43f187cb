/** Runs the steps of the export workflow. */
import { runExportStep } from '../../runtime/aws/export-steps.ts'

export const handler = runExportStep
