/** The state machine that makes documents again: lambdas/indexing/workflow.ts, with the function that does its steps. */
import { RemovalPolicy } from 'aws-cdk-lib'
import type { IKey } from 'aws-cdk-lib/aws-kms'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs'
import { DefinitionBody, LogLevel, StateMachine } from 'aws-cdk-lib/aws-stepfunctions'
import { Construct } from 'constructs'
import { rebuildWorkflow } from '../lambdas/indexing/workflow.ts'
import { allow } from './grants.ts'
import type { Settings } from './settings.ts'

export class RebuildWorkflow extends Construct {
  readonly machine: StateMachine

  constructor(scope: Construct, id: string, step: IFunction, key: IKey, { logRetentionDays }: Settings) {
    super(scope, id)
    const destination = new LogGroup(this, 'Log', {
      retention: logRetentionDays as RetentionDays,
      encryptionKey: key,
      removalPolicy: RemovalPolicy.DESTROY,
    })
    this.machine = new StateMachine(this, 'Machine', {
      comment: 'Makes the documents of the search index again',
      definitionBody: DefinitionBody.fromString(JSON.stringify(rebuildWorkflow(step.functionArn))),
      logs: { destination, level: LogLevel.ALL, includeExecutionData: false },
    })
    this.machine.addToRolePolicy(allow(['lambda:InvokeFunction'], [step.functionArn]))
  }
}
