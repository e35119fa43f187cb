/** Runs the steps of the workflow that rebuilds indices. */
import { rebuild } from '../../runtime/aws/index-workers.ts'

export const handler = rebuild()
