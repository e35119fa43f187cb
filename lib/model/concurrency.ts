/** Concurrent executions of functions. Functions that are not listed run rarely. */
import type { FunctionName } from '../../lambdas/functions/functions.ts'
import { ratesOf } from './costs.ts'
import type { Load } from './load.ts'
import { REQUEST_WORK } from './request-work.ts'

export type Concurrency = { readonly name: FunctionName; readonly count: number }

type Workers = {
  readonly streamShards: number
  readonly parallelizationFactor: number
  readonly rebuildWidth: number
  readonly exportExecutions: number
}

const REQUESTS = ['create', 'update', 'read', 'search'] as const

export function concurrencyOf(load: Load, workers: Workers): readonly Concurrency[] {
  const rates = ratesOf(load)
  return [
    ...REQUESTS.map((name) => ({ name, count: Math.ceil((rates[name] * REQUEST_WORK[name].ms) / 1_000) })),
    { name: 'indexer', count: workers.streamShards * workers.parallelizationFactor },
    { name: 'rebuild-step', count: workers.rebuildWidth },
    { name: 'export-step', count: workers.exportExecutions },
  ]
}

export const isOfRequests = ({ name }: Concurrency): boolean => REQUESTS.some((each) => each === name)

/** Minimum executions for requests, however few the model expects. */
const REQUEST_EXECUTIONS = 200

/** Returns the sum, with at least REQUEST_EXECUTIONS for requests. */
export const executionsWithRequestsOf = (concurrency: readonly Concurrency[]): number =>
  Math.max(REQUEST_EXECUTIONS, executionsOf(concurrency.filter(isOfRequests))) +
  executionsOf(concurrency.filter((each) => !isOfRequests(each)))

export const executionsOf = (concurrency: readonly Concurrency[]): number => concurrency.reduce((sum, { count }) => sum + count, 0)
