/** Watch: metrics that show a failure, and the alarm that reports it. */
import { METRIC_NAMESPACE, type MetricName } from '../../lambdas/runtime/aws/log.ts'

/** Route of the token endpoint, the only route with a watch of its own. */
export const TOKEN_ROUTE = '/auth/token'

/**
 * Severities of alarms, each with a topic. `page`: requests fail now, or data is in danger. `ticket`: the operator must act within days.
 * `info`: nothing is urgent.
 */
export const SEVERITIES = ['page', 'ticket', 'info'] as const
export type Severity = (typeof SEVERITIES)[number]

export type WatchedMetric = {
  readonly namespace: string
  readonly metricName: string
  readonly statistic: string
  readonly label?: string | undefined
  readonly dimensions?: Readonly<Record<string, string>>
}

/** Returns a metric that the functions of the stage write themselves. */
export const stageMetricOf = (stage: string, metricName: MetricName, statistic: string): WatchedMetric => ({
  namespace: METRIC_NAMESPACE,
  ...{ metricName, statistic, dimensions: { Stage: stage } },
})

export type Watch = {
  readonly title: string
  readonly metrics: readonly WatchedMetric[]
  /**
   * Alarm, created for each metric. `above`, `below`: threshold that a value must exceed or fall below. `periods`: number of successive
   * periods of five minutes; default 1. Missing values raise no alarm, unless `isSilenceWrong` is set: such a metric has values all the
   * time while the stage works.
   */
  readonly alarm?: {
    readonly name: string
    readonly severity: Severity
    readonly above?: number
    readonly below?: number
    readonly periods?: number
    readonly isSilenceWrong?: true
    readonly means: string
    readonly todo: string
  }
}

/** Names of the deployed resources. */
export type DeployedNames = {
  readonly stage: string
  readonly api: { readonly name: string; readonly stage: string }
  readonly table: string
  readonly stateTable: string
  /** Secondary index of the resource table. */
  readonly index: string
  /** Deployed names of the functions that follow the table's stream, by the function's name in this project. */
  readonly followers: Readonly<Record<string, string>>
  /** Ids of the event source mappings of the functions that follow the table's stream. */
  readonly mappings: { readonly indexer: string; readonly 'settle-transactions': string }
  /** ARN of the state machine for rebuilds. */
  readonly rebuild: string
  /**
   * ARN of the state machine for exports. `sweeper`: name of the function that resumes abandoned exports. `starter`: name of the function
   * that starts scheduled exports; absent if there are none.
   */
  readonly exports: { readonly machine: string; readonly sweeper: string; readonly starter?: string }
  /** Search domain. `disk`: gigabytes of each node. */
  readonly domain?: { readonly name: string; readonly account: string; readonly disk: number }
  /** Name of the function that maintains the signing keys; absent if the stage issues no tokens. */
  readonly tokens?: { readonly tender: string }
}
