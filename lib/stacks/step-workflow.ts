/**
 * A state machine whose steps one function does: lambdas/indexing/workflow.ts, lambdas/export/workflow.ts. Its log holds no input and no output, and nothing in it waits for
 * ever.
 */
import { type Duration, RemovalPolicy } from 'aws-cdk-lib'
import type { IKey } from 'aws-cdk-lib/aws-kms'
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs'
import { DefinitionBody, LogLevel, StateMachine } from 'aws-cdk-lib/aws-stepfunctions'
import { Construct } from 'constructs'
import { allow } from '../permissions/permissions.ts'
import type { Settings } from '../settings/settings.ts'

/** Seconds, for the call and its answer. */
const SLACK = 60

export type StepWorkflowProps = {
  readonly comment: string
  /** Amazon States Language. `step`: the ARN of the function. */
  readonly definition: (step: string) => object
  readonly step: LambdaFunction
  /** After it an execution is ended, and what wants it begins another: longer than any takes that goes on. */
  readonly most: Duration
  readonly key: IKey
  readonly settings: Settings
}

export class StepWorkflow extends Construct {
  readonly machine: StateMachine

  constructor(scope: Construct, id: string, { comment, definition, step, most, key, settings }: StepWorkflowProps) {
    super(scope, id)
    const destination = new LogGroup(this, 'Log', {
      retention: settings.logRetentionDays as RetentionDays,
      encryptionKey: key,
      removalPolicy: RemovalPolicy.DESTROY,
    })
    this.machine = new StateMachine(this, 'Machine', {
      comment,
      definitionBody: DefinitionBody.fromString(
        JSON.stringify({ ...limited(definition(step.functionArn), step), TimeoutSeconds: most.toSeconds() }),
      ),
      logs: { destination, level: LogLevel.ALL, includeExecutionData: false },
    })
    this.machine.addToRolePolicy(allow(['lambda:InvokeFunction'], [step.functionArn]))
  }
}

/** Each task waits for its function as long as that may take, and a little; what nobody answered is tried again as what failed. */
function limited(definition: object, { timeout }: LambdaFunction): object {
  const TimeoutSeconds = timeout!.toSeconds() + SLACK
  return JSON.parse(JSON.stringify(definition, (_, value) => (value?.Type === 'Task' ? { ...value, TimeoutSeconds } : value)))
}
