/** Follows the table's stream: what was written becomes searchable. */
import { followHeads } from '../../runtime/aws/index-workers.ts'

export const handler = followHeads
