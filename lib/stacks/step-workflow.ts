/**
 * State machine whose steps are run by one function: lambdas/indexing/rebuild/workflow.ts, lambdas/export/workflow.ts. Its log contains no input
 * and no output. Each step and each execution has a time limit.
 */
import { type Duration, RemovalPolicy } from 'aws-cdk-lib'
import type { IKey } from 'aws-cdk-lib/aws-kms'
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs'
import { DefinitionBody, LogLevel, StateMachine } from 'aws-cdk-lib/aws-stepfunctions'
import { Construct } from 'constructs'
import { allow } from '../permissions/permissions.ts'
import type { Settings } from '../settings/settings.ts'

/** Seconds added to the timeout of the function for the time limit of a step: the call and its response take time, too. */
const SLACK = 60

/**
 * Prefix of logs that AWS permits once for all of them. Each other log adds to a policy of the account, which may have 5,120 characters.
 * https://docs.aws.amazon.com/step-functions/latest/dg/bp-cwl.html
 */
const LOG_PREFIX = '/aws/vendedlogs/states/'

export type StepWorkflowProps = {
  readonly comment: string
  /** Returns the definition in Amazon States Language. `step`: ARN of the function. */
  readonly definition: (step: string) => object
  readonly step: LambdaFunction
  /**
   * Maximum duration of an execution, longer than one should take. A longer one is ended, and a sweep starts another for the remaining
   * work.
   */
  readonly maxDuration: Duration
  readonly key: IKey
  readonly settings: Settings
}

export class StepWorkflow extends Construct {
  readonly machine: StateMachine

  constructor(scope: Construct, id: string, { comment, definition, step, maxDuration, key, settings }: StepWorkflowProps) {
    super(scope, id)
    const destination = new LogGroup(this, 'Log', {
      logGroupName: `${LOG_PREFIX}fhir-${settings.stage}-${id}`,
      retention: settings.logRetentionDays as RetentionDays,
      encryptionKey: key,
      removalPolicy: RemovalPolicy.DESTROY,
    })
    this.machine = new StateMachine(this, 'Machine', {
      comment,
      definitionBody: DefinitionBody.fromString(
        JSON.stringify({ ...limited(definition(step.functionArn), step), TimeoutSeconds: maxDuration.toSeconds() }),
      ),
      logs: { destination, level: LogLevel.ALL, includeExecutionData: false },
    })
    this.machine.addToRolePolicy(allow(['lambda:InvokeFunction'], [step.functionArn]))
  }
}

/** Limits each task to the timeout of its function plus SLACK. A call without a response is then retried like a failed one. */
function limited(definition: object, { timeout }: LambdaFunction): object {
  const TimeoutSeconds = timeout!.toSeconds() + SLACK
  return JSON.parse(JSON.stringify(definition, (_, value) => (value?.Type === 'Task' ? { ...value, TimeoutSeconds } : value)))
}
