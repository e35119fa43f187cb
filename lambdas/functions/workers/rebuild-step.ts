/** The steps of the rebuild workflow. */
import { rebuild } from '../runtime/aws-indexing.ts'

export const handler = rebuild()
