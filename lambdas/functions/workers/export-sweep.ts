/** On schedules: exports nobody works on go on, and what is left of those whose time is over is removed. */
import { sweepExports } from '../../runtime/aws/export-steps.ts'

export const handler = sweepExports
