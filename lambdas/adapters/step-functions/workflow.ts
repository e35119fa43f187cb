/** Workflow as executions of a state machine. https://docs.aws.amazon.com/step-functions/latest/apireference/API_StartExecution.html */
import { ExecutionAlreadyExists, SFNClient, StartExecutionCommand } from '@aws-sdk/client-sfn'
import type { Workflow } from '../../ports/workflow.ts'

export class StepFunctionsWorkflow implements Workflow {
  readonly #client: SFNClient
  readonly #stateMachine: string

  /** `stateMachine`: its ARN. */
  constructor(stateMachine: string, client = new SFNClient()) {
    this.#client = client
    this.#stateMachine = stateMachine
  }

  async start(name: string, input: Readonly<Record<string, unknown>>): Promise<void> {
    try {
      await this.#client.send(new StartExecutionCommand({ stateMachineArn: this.#stateMachine, name, input: JSON.stringify(input) }))
    } catch (error) {
      if (!(error instanceof ExecutionAlreadyExists)) throw error
    }
  }
}
