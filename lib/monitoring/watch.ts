/** Watch: metrics that show a failure, and the alarm that reports it. */
import { METRIC_NAMESPACE, type MetricName } from '../../lambdas/runtime/aws/log.ts'

/** Route of the token endpoint, the only route with a watch of its own. */
export const TOKEN_ROUTE = '/auth/token'

/**
 * Metric that the filters of refused-requests.ts write: 1 for a request that was answered 401 or 403, and for a match of members that was
 * answered 429; 0 for every other request. Functions write 2 for a partner that guesses at members. Such values are rare, so the average
 * stays close to the share of refused requests.
 */
export const REFUSED_METRIC = 'Refused' satisfies MetricName

/**
 * Severities of alarms, each with a topic. `page`: requests fail now, or data is in danger. `ticket`: the operator must act within days.
 * `info`: nothing is urgent.
 */
export const SEVERITIES = ['page', 'ticket', 'info'] as const
export type Severity = (typeof SEVERITIES)[number]

/**
 * `expression`: metric math that is evaluated instead of the metric. In it `m` is the metric, and `n` the number of its values.
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html
 */
export type WatchedMetric = {
  readonly namespace: string
  readonly metricName: string
  readonly statistic: string
  readonly label?: string | undefined
  readonly dimensions?: Readonly<Record<string, string>>
  readonly expression?: string | undefined
}

/** Whether the expression uses the number of values. AWS charges an alarm for each metric, and this number is a second one. */
export const hasCount = (expression: string): boolean => /\bn\b/.test(expression)

/** Returns a metric that the functions of the stage or the filters of its access log write. */
export const stageMetricOf = (stage: string, metricName: MetricName, statistic: string): WatchedMetric => ({
  namespace: METRIC_NAMESPACE,
  ...{ metricName, statistic, dimensions: { Stage: stage } },
})

/** Returns a metric of a Lambda function. `name`: its deployed name. */
export const functionMetricOf = (name: string, metricName: string, statistic: string): WatchedMetric => ({
  namespace: 'AWS/Lambda',
  ...{ metricName, statistic, dimensions: { FunctionName: name } },
})

/** Returns a metric of an event source mapping. */
export const mappingMetricOf = (id: string, metricName: string, statistic: string): WatchedMetric => ({
  namespace: 'AWS/Lambda',
  ...{ metricName, statistic, dimensions: { EventSourceMappingUUID: id } },
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
  /** `rate`: maximum requests per second that the API accepts. */
  readonly api: { readonly name: string; readonly stage: string; readonly rate: number }
  readonly table: string
  readonly stateTable: string
  /** Secondary index of the resource table. */
  readonly index: string
  /** Deployed names of the functions that follow the table's stream, by the function's name in this project. */
  readonly followers: Readonly<Record<string, string>>
  /** Ids of the event source mappings of the functions that follow the table's stream. */
  readonly mappings: { readonly indexer: string; readonly 'settle-transactions': string }
  /** Name of the function that archives audit records, and id of its event source mapping. Absent without an archive. */
  readonly archive?: { readonly archiver: string; readonly mapping: string }
  /** ARN of the state machine for rebuilds. */
  readonly rebuild: string
  /**
   * ARN of the state machine for exports. `sweeper`: name of the function that resumes abandoned exports. `starter`: name of the function
   * that starts scheduled exports; absent if there are none.
   */
  readonly exports: { readonly machine: string; readonly sweeper: string; readonly starter?: string }
  /** Search domain. `disk`: gigabytes of each data node. `nodes`: data nodes. */
  readonly domain?: {
    readonly name: string
    readonly account: string
    readonly disk: number
    readonly nodes: number
    readonly masters: number
  }
  /**
   * Absent if the stage issues no tokens. `tender`: name of the function that maintains the signing keys. `hasPartners`: whether partners
   * may match members.
   */
  readonly tokens?: { readonly tender: string; readonly hasPartners: boolean }
}
