/** Follows the stream of the table, and makes writes searchable. On a schedule it sends the heartbeat and checks the indices. */
import { followHeads } from '../../runtime/aws/index-workers.ts'

export const handler = followHeads
