/** Steps of the rebuild workflow. */
import { rebuild } from '../../runtime/aws/index-workers.ts'

export const handler = rebuild()
