/** Finishes large transactions whose coordinator is gone, from the table's stream and on a schedule. */
import { settleTransactions } from '../../runtime/aws/index-workers.ts'

export const handler = settleTransactions
