/**
 * Follows the stream of the table and finishes large transactions that were left incomplete. On schedules it resumes rebuilds and removes
 * unused bodies.
 */
import { settleTransactions } from '../../runtime/aws/index-workers.ts'

export const handler = settleTransactions
