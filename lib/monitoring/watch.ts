/** A watch: metrics of something that can go wrong, and the alarm that rings when it does. */
import { METRIC_NAMESPACE, type MetricName } from '../../lambdas/runtime/aws/log.ts'

/** The one method that is watched by itself. */
export const TOKEN_ROUTE = '/auth/token'

export type WatchedMetric = {
  readonly namespace: string
  readonly metricName: string
  readonly statistic: string
  readonly label?: string | undefined
  readonly dimensions?: Readonly<Record<string, string>>
}

/** What the functions of the stage write themselves. */
export const stageMetricOf = (stage: string, metricName: MetricName, statistic: string): WatchedMetric => ({
  namespace: METRIC_NAMESPACE,
  ...{ metricName, statistic, dimensions: { Stage: stage } },
})

export type Watch = {
  readonly title: string
  readonly metrics: readonly WatchedMetric[]
  /**
   * One for each metric. `periods` of five minutes each. Absent values are no reason to ring, unless `isSilenceWrong`: what is written all the
   * time while all is well.
   */
  readonly alarm?: {
    readonly name: string
    readonly above?: number
    readonly below?: number
    readonly periods?: number
    readonly isSilenceWrong?: true
    readonly means: string
    readonly todo: string
  }
}

/** Names of what is deployed. */
export type DeployedNames = {
  readonly stage: string
  readonly api: { readonly name: string; readonly stage: string }
  readonly table: string
  readonly stateTable: string
  /** Of the table of resources. */
  readonly index: string
  /** Function → its name. */
  readonly followers: Readonly<Record<string, string>>
  /** Function → the id of its event source mapping. */
  readonly mappings: Readonly<Record<string, string>>
  /** ARN of the state machine. */
  readonly rebuild: string
  /** ARN of theirs, and the names of the functions that take up what was left, and begin those of schedules if there are any. */
  readonly exports: { readonly machine: string; readonly sweeper: string; readonly starter?: string }
  /** `disk`: gigabytes of each node. */
  readonly domain?: { readonly name: string; readonly account: string; readonly disk: number }
  /** Where it gives tokens: the name of the function that tends the keys. */
  readonly tokens?: { readonly tender: string }
}
