/** Monitoring of a stage: alarms with their remedies, and one dashboard. */
import { Duration } from 'aws-cdk-lib'
import {
  Alarm,
  ComparisonOperator,
  Dashboard,
  GraphWidget,
  type IMetric,
  MathExpression,
  Metric,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch'
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions'
import type { ITopic } from 'aws-cdk-lib/aws-sns'
import { Construct } from 'constructs'
import { hasCount, type Severity, type Watch } from './watch.ts'

/** `topics`: the topic of a severity is notified when such an alarm begins and when it ends. */
export type ObservabilityProps = { readonly watches: readonly Watch[]; readonly topics: Readonly<Record<Severity, ITopic>> }

const PER_ROW = 3
const [WIDTH, HEIGHT] = [24 / PER_ROW, 6]

export class Observability extends Construct {
  constructor(scope: Construct, id: string, { watches, topics }: ObservabilityProps) {
    super(scope, id)
    const dashboard = new Dashboard(this, 'Dashboard', { defaultInterval: Duration.days(1) })
    const widgets = watches.map(
      ({ title, metrics }) => new GraphWidget({ title, left: metrics.map(graphMetricOf), width: WIDTH, height: HEIGHT }),
    )
    for (let i = 0; i < widgets.length; i += PER_ROW) dashboard.addWidgets(...widgets.slice(i, i + PER_ROW))
    for (const watch of watches) this.#alarms(watch, topics)
  }

  #alarms({ alarm, metrics }: Watch, topics: ObservabilityProps['topics']): void {
    if (alarm === undefined) return
    for (const [i, metric] of metrics.entries()) {
      const each = new Alarm(this, `${alarm.name}${i === 0 ? '' : i + 1}`, {
        alarmDescription: `${alarm.name} (${alarm.severity}): ${alarm.means}. ${alarm.todo}`,
        metric: metricOf({ ...metric, label: undefined }),
        ...comparisonOf(alarm),
        evaluationPeriods: alarm.periods ?? 1,
        treatMissingData: alarm.isSilenceWrong ? TreatMissingData.BREACHING : TreatMissingData.NOT_BREACHING,
      })
      const action = new SnsAction(topics[alarm.severity])
      each.addAlarmAction(action)
      each.addOkAction(action)
    }
  }
}

const comparisonOf = ({ above, below }: NonNullable<Watch['alarm']>) =>
  below === undefined
    ? { threshold: above!, comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD }
    : { threshold: below, comparisonOperator: ComparisonOperator.LESS_THAN_THRESHOLD }

/** Returns the metric of a graph, without the expression of its alarm. */
const graphMetricOf = (metric: Watch['metrics'][number]): IMetric => metricOf({ ...metric, expression: undefined })

const PERIOD = { period: Duration.minutes(5) }

function metricOf({ dimensions, label, expression, ...rest }: Watch['metrics'][number]): IMetric {
  const named = { ...rest, ...PERIOD, ...(dimensions === undefined ? {} : { dimensionsMap: { ...dimensions } }) }
  if (expression === undefined) return new Metric({ ...named, ...(label === undefined ? {} : { label }) })
  const m = new Metric(named)
  const n = hasCount(expression) ? { n: m.with({ statistic: 'SampleCount' }) } : {}
  return new MathExpression({ expression, usingMetrics: { m, ...n }, ...PERIOD })
}
