/** Follows the table's stream: what was written becomes searchable. */
import { followHeads } from '../runtime/aws-indexing.ts'

export const handler = followHeads
