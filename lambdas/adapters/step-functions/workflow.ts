/** Workflow on AWS Step Functions. https://docs.aws.amazon.com/step-functions/latest/apireference/API_StartExecution.html */
import {
  DescribeExecutionCommand,
  ExecutionAlreadyExists,
  ExecutionDoesNotExist,
  SFNClient,
  StartExecutionCommand,
  StopExecutionCommand,
} from '@aws-sdk/client-sfn'
import { timed } from '../../ports/execution/call-times.ts'
import type { Workflow } from '../../ports/execution/workflow.ts'
import { checkWorkflowName } from '../../ports/execution/workflow-name.ts'

export class StepFunctionsWorkflow implements Workflow {
  readonly #client: SFNClient
  readonly #stateMachine: string

  /** `stateMachine`: ARN of the state machine. */
  constructor(stateMachine: string, client = new SFNClient()) {
    this.#client = client
    this.#stateMachine = stateMachine
  }

  async start(name: string, input: Readonly<Record<string, unknown>>): Promise<void> {
    checkWorkflowName(name)
    try {
      const command = new StartExecutionCommand({ stateMachineArn: this.#stateMachine, name, input: JSON.stringify(input) })
      await timed('step-functions', () => this.#client.send(command))
    } catch (error) {
      if (!(error instanceof ExecutionAlreadyExists)) throw error
    }
  }

  async stop(name: string): Promise<void> {
    const executionArn = this.#execution(name)
    await this.#ofExecution(() => this.#client.send(new StopExecutionCommand({ executionArn })))
  }

  async isRunning(name: string): Promise<boolean> {
    const executionArn = this.#execution(name)
    const known = await this.#ofExecution(() => this.#client.send(new DescribeExecutionCommand({ executionArn })))
    return known?.status === 'RUNNING'
  }

  /** Calls `ask`. Returns undefined if the execution does not exist. */
  async #ofExecution<Answer>(ask: () => Promise<Answer>): Promise<Answer | undefined> {
    try {
      return await timed('step-functions', ask)
    } catch (error) {
      if (error instanceof ExecutionDoesNotExist) return undefined
      throw error
    }
  }

  /**
   * Returns the ARN of the execution with this name.
   * https://docs.aws.amazon.com/step-functions/latest/dg/concepts-state-machine-executions.html
   */
  #execution(name: string): string {
    checkWorkflowName(name)
    return `${this.#stateMachine.replace(':stateMachine:', ':execution:')}:${name}`
  }
}
