/** Monitoring of a stage: alarms with their remedies, and one dashboard. */
import { Duration } from 'aws-cdk-lib'
import { Alarm, ComparisonOperator, Dashboard, GraphWidget, type IMetric, Metric, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch'
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions'
import type { ITopic } from 'aws-cdk-lib/aws-sns'
import { Construct } from 'constructs'
import type { Watch } from './watch.ts'

/** `topic`: receives the notifications of all alarms. */
export type ObservabilityProps = { readonly watches: readonly Watch[]; readonly topic: ITopic }

const PER_ROW = 3
const [WIDTH, HEIGHT] = [24 / PER_ROW, 6]

export class Observability extends Construct {
  constructor(scope: Construct, id: string, { watches, topic }: ObservabilityProps) {
    super(scope, id)
    const dashboard = new Dashboard(this, 'Dashboard', { defaultInterval: Duration.days(1) })
    const widgets = watches.map(
      ({ title, metrics }) => new GraphWidget({ title, left: metrics.map(metricOf), width: WIDTH, height: HEIGHT }),
    )
    for (let i = 0; i < widgets.length; i += PER_ROW) dashboard.addWidgets(...widgets.slice(i, i + PER_ROW))
    for (const watch of watches) this.#alarms(watch, topic)
  }

  #alarms({ alarm, metrics }: Watch, topic: ITopic): void {
    if (alarm === undefined) return
    for (const [i, metric] of metrics.entries()) {
      new Alarm(this, `${alarm.name}${i === 0 ? '' : i + 1}`, {
        alarmDescription: `${alarm.name}: ${alarm.means}. ${alarm.todo}`,
        metric: metricOf({ ...metric, label: undefined }),
        ...comparisonOf(alarm),
        evaluationPeriods: alarm.periods ?? 1,
        treatMissingData: alarm.isSilenceWrong ? TreatMissingData.BREACHING : TreatMissingData.NOT_BREACHING,
      }).addAlarmAction(new SnsAction(topic))
    }
  }
}

const comparisonOf = ({ above, below }: NonNullable<Watch['alarm']>) =>
  below === undefined
    ? { threshold: above!, comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD }
    : { threshold: below, comparisonOperator: ComparisonOperator.LESS_THAN_THRESHOLD }

const metricOf = ({ dimensions, label, ...rest }: Watch['metrics'][number]): IMetric =>
  new Metric({
    ...rest,
    ...(label === undefined ? {} : { label }),
    period: Duration.minutes(5),
    ...(dimensions === undefined ? {} : { dimensionsMap: { ...dimensions } }),
  })
