/** Runs on schedules: resumes exports that no workflow runs, copies exports to external buckets, and removes expired ones. */
import { sweepExports } from '../../runtime/aws/export-steps.ts'

export const handler = sweepExports
