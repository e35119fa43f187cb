/** Executions of a state machine. What the engine does with them is tested where it runs: test/cloud. */
import { ExecutionAlreadyExists, ExecutionLimitExceeded, SFNClient, StartExecutionCommand } from '@aws-sdk/client-sfn'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { mockClient } from 'aws-sdk-client-mock'
import { StepFunctionsWorkflow } from '../../lambdas/adapters/step-functions/workflow.ts'

const MACHINE = 'arn:aws:states:us-east-1:000000000000:stateMachine:rebuild'
const client = mockClient(SFNClient)
const workflow = new StepFunctionsWorkflow(MACHINE, new SFNClient({ region: 'us-east-1' }))
const failure = { message: '', $metadata: {} }

beforeEach(() => void client.reset())

describe('an execution', () => {
  it('is started under its name, with its input as JSON', async () => {
    client.on(StartExecutionCommand).resolves({})
    await workflow.start('rebuild-7', { types: ['Patient'] })
    expect(client.commandCalls(StartExecutionCommand).map(({ args }) => args[0].input)).toEqual([
      { stateMachineArn: MACHINE, name: 'rebuild-7', input: '{"types":["Patient"]}' },
    ])
  })

  it('that was started before is started', async () => {
    client.on(StartExecutionCommand).rejects(new ExecutionAlreadyExists(failure))
    await expect(workflow.start('rebuild-7', {})).resolves.toBeUndefined()
  })

  it('that cannot be started fails', async () => {
    client.on(StartExecutionCommand).rejects(new ExecutionLimitExceeded(failure))
    await expect(workflow.start('rebuild-7', {})).rejects.toBeInstanceOf(ExecutionLimitExceeded)
  })
})
