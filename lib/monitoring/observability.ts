/** Monitoring of a stage: alarms with their remedies, one topic for all alarms, and one dashboard. */
import { Duration, Stack } from 'aws-cdk-lib'
import { Alarm, ComparisonOperator, Dashboard, GraphWidget, type IMetric, Metric, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch'
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions'
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import type { IKey } from 'aws-cdk-lib/aws-kms'
import { type ITopic, Topic } from 'aws-cdk-lib/aws-sns'
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions'
import { Construct } from 'constructs'
import type { Watch } from './watch.ts'

export type ObservabilityProps = { readonly watches: readonly Watch[]; readonly key: IKey; readonly alarmEmail?: string }

const PER_ROW = 3
const [WIDTH, HEIGHT] = [24 / PER_ROW, 6]

export class Observability extends Construct {
  readonly topic: ITopic

  constructor(scope: Construct, id: string, { watches, key, alarmEmail }: ObservabilityProps) {
    super(scope, id)
    const topic = this.#topic(key)
    if (alarmEmail !== undefined) topic.addSubscription(new EmailSubscription(alarmEmail))
    const dashboard = new Dashboard(this, 'Dashboard', { defaultInterval: Duration.days(1) })
    const widgets = watches.map(
      ({ title, metrics }) => new GraphWidget({ title, left: metrics.map(metricOf), width: WIDTH, height: HEIGHT }),
    )
    for (let i = 0; i < widgets.length; i += PER_ROW) dashboard.addWidgets(...widgets.slice(i, i + PER_ROW))
    for (const watch of watches) this.#alarms(watch, topic)
    this.topic = topic
  }

  #topic(key: IKey): Topic {
    const topic = new Topic(this, 'Alarms', { displayName: 'FHIR server: alarms', masterKey: key, enforceSSL: true })
    topic.addToResourcePolicy(
      new PolicyStatement({
        principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
        actions: ['sns:Publish'],
        resources: [topic.topicArn],
        conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } },
      }),
    )
    return topic
  }

  #alarms({ alarm, metrics }: Watch, topic: Topic): void {
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
