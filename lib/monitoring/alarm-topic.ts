/** Topic that notifies the operator of all alarms of a stage. Subscriptions of the operator depend on it, so it stays where it was created. */
import { Stack } from 'aws-cdk-lib'
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import type { IKey } from 'aws-cdk-lib/aws-kms'
import { type ITopic, Topic } from 'aws-cdk-lib/aws-sns'
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions'
import { Construct } from 'constructs'

/** `alarmEmail`: address that receives the notifications. */
export type AlarmTopicProps = { readonly key: IKey; readonly alarmEmail: string | undefined }

export class AlarmTopic extends Construct {
  readonly topic: ITopic

  constructor(scope: Construct, id: string, { key, alarmEmail }: AlarmTopicProps) {
    super(scope, id)
    const topic = new Topic(this, 'Alarms', { displayName: 'FHIR server: alarms', masterKey: key, enforceSSL: true })
    topic.addToResourcePolicy(
      new PolicyStatement({
        principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
        actions: ['sns:Publish'],
        resources: [topic.topicArn],
        conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } },
      }),
    )
    if (alarmEmail !== undefined) topic.addSubscription(new EmailSubscription(alarmEmail))
    this.topic = topic
  }
}
