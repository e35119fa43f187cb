/** Finishes large transactions whose coordinator is gone, from the table's stream and on a schedule. */
import { settle } from '../../runtime/aws/index-workers.ts'

export const handler = settle
