/** Follows the stream of the table: finishes abandoned large transactions. Resumes rebuilds and removes unused bodies on schedules. */
import { settleTransactions } from '../../runtime/aws/index-workers.ts'

export const handler = settleTransactions
