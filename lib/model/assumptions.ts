/**
 * Rates that are not measured on AWS: measurements on one machine say nothing about Lambda and OpenSearch. The output of the model names
 * them. Durations of requests are in request-work.ts.
 */

export { DOCUMENTS_PER_SECOND } from '../../lambdas/indexing/lifecycle/rebuild-estimate.ts'

/** Resources that one writer exports per second. */
export const EXPORTED_PER_SECOND = 2_000
/** Milliseconds of a query that counts entries of the index. */
export const COUNT_MS = 12
/** Writes and searches per second of a domain of the size `demo`, one node with two burstable processors and 2 GB. */
export const DEMO_REQUESTS = 20
