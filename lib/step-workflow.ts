/** A state machine whose steps one function does: lambdas/indexing/workflow.ts, lambdas/export/workflow.ts. Its log holds no input and no output. */
import { RemovalPolicy } from 'aws-cdk-lib'
import type { IKey } from 'aws-cdk-lib/aws-kms'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs'
import { DefinitionBody, LogLevel, StateMachine } from 'aws-cdk-lib/aws-stepfunctions'
import { Construct } from 'constructs'
import { allow } from './permissions.ts'
import type { Settings } from './settings.ts'

export type StepWorkflowProps = {
  readonly comment: string
  /** Amazon States Language. `step`: the ARN of the function. */
  readonly definition: (step: string) => object
  readonly step: IFunction
  readonly key: IKey
  readonly settings: Settings
}

export class StepWorkflow extends Construct {
  readonly machine: StateMachine

  constructor(scope: Construct, id: string, { comment, definition, step, key, settings }: StepWorkflowProps) {
    super(scope, id)
    const destination = new LogGroup(this, 'Log', {
      retention: settings.logRetentionDays as RetentionDays,
      encryptionKey: key,
      removalPolicy: RemovalPolicy.DESTROY,
    })
    this.machine = new StateMachine(this, 'Machine', {
      comment,
      definitionBody: DefinitionBody.fromString(JSON.stringify(definition(step.functionArn))),
      logs: { destination, level: LogLevel.ALL, includeExecutionData: false },
    })
    this.machine.addToRolePolicy(allow(['lambda:InvokeFunction'], [step.functionArn]))
  }
}
