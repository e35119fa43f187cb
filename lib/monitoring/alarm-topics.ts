/** Topics that notify the operator of alarms, one for each severity. */
import { Stack } from 'aws-cdk-lib'
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import type { IKey } from 'aws-cdk-lib/aws-kms'
import { type ITopic, Topic } from 'aws-cdk-lib/aws-sns'
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions'
import { Construct } from 'constructs'
import { SEVERITIES, type Severity } from './watch.ts'

/** `alarmEmail`: address that receives the notifications of the severities `page` and `ticket`. */
export type AlarmTopicsProps = { readonly key: IKey; readonly alarmEmail: string | undefined }

/** Construct ids. Operators subscribe to the topics, so the ids must not change. `Alarms` is older than the severities. */
const IDS: Readonly<Record<Severity, string>> = { page: 'Alarms', ticket: 'Tickets', info: 'Infos' }

/** Severities that are mailed. An operator looks at the others on the dashboard. */
const MAILED: readonly Severity[] = ['page', 'ticket']

export class AlarmTopics extends Construct {
  readonly topics: Readonly<Record<Severity, ITopic>>

  constructor(scope: Construct, id: string, { key, alarmEmail }: AlarmTopicsProps) {
    super(scope, id)
    const entries = SEVERITIES.map((severity): readonly [Severity, ITopic] => {
      const topic = this.#topic(severity, key)
      if (alarmEmail !== undefined && MAILED.includes(severity)) topic.addSubscription(new EmailSubscription(alarmEmail))
      return [severity, topic]
    })
    this.topics = Object.fromEntries(entries) as Record<Severity, ITopic>
  }

  #topic(severity: Severity, key: IKey): Topic {
    const topic = new Topic(this, IDS[severity], { displayName: `FHIR server: ${severity}`, masterKey: key, enforceSSL: true })
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
}
