/** Executions of a state machine. The behaviour of the engine is tested where it runs: test/cloud. */
import {
  DescribeExecutionCommand,
  ExecutionAlreadyExists,
  ExecutionDoesNotExist,
  ExecutionLimitExceeded,
  SFNClient,
  StartExecutionCommand,
  StopExecutionCommand,
} from '@aws-sdk/client-sfn'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { mockClient } from 'aws-sdk-client-mock'
import { StepFunctionsWorkflow } from '../../lambdas/adapters/step-functions/workflow.ts'

const MACHINE = 'arn:aws:states:us-east-1:000000000000:stateMachine:rebuild'
const EXECUTION = 'arn:aws:states:us-east-1:000000000000:execution:rebuild:rebuild-7'
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

  it('starts without an error if it was started before', async () => {
    client.on(StartExecutionCommand).rejects(new ExecutionAlreadyExists(failure))
    await expect(workflow.start('rebuild-7', {})).resolves.toBeUndefined()
  })

  it('fails if it cannot be started', async () => {
    client.on(StartExecutionCommand).rejects(new ExecutionLimitExceeded(failure))
    await expect(workflow.start('rebuild-7', {})).rejects.toBeInstanceOf(ExecutionLimitExceeded)
  })

  it('is stopped by its ARN; a missing one counts as stopped', async () => {
    client.on(StopExecutionCommand).resolvesOnce({}).rejectsOnce(new ExecutionDoesNotExist(failure))
    await workflow.stop('rebuild-7')
    await workflow.stop('rebuild-7')
    expect(client.commandCalls(StopExecutionCommand).map(({ args }) => args[0].input)).toEqual([
      { executionArn: EXECUTION },
      { executionArn: EXECUTION },
    ])
  })

  it.each([
    ['RUNNING', true],
    ['PENDING_REDRIVE', false],
    ['SUCCEEDED', false],
    ['FAILED', false],
    ['TIMED_OUT', false],
    ['ABORTED', false],
  ] as const)('in the state %s is running: %p', async (status, isRunning) => {
    client.on(DescribeExecutionCommand, { executionArn: EXECUTION }).resolves({ status })
    expect(await workflow.isRunning('rebuild-7')).toBe(isRunning)
  })

  it('is not running if it does not exist', async () => {
    client.on(DescribeExecutionCommand).rejects(new ExecutionDoesNotExist(failure))
    expect(await workflow.isRunning('rebuild-7')).toBe(false)
  })

  it('fails if it cannot be stopped or described', async () => {
    client.on(StopExecutionCommand).rejects(new Error('down'))
    client.on(DescribeExecutionCommand).rejects(new Error('down'))
    await expect(workflow.stop('rebuild-7')).rejects.toThrow('down')
    await expect(workflow.isRunning('rebuild-7')).rejects.toThrow('down')
  })

  it.each(['', 'a b', 'a/b', 'a:b', 'n'.repeat(81)])('rejects the name %j', async (name) => {
    await expect(workflow.start(name, {})).rejects.toThrow(RangeError)
    await expect(workflow.stop(name)).rejects.toThrow(RangeError)
    await expect(workflow.isRunning(name)).rejects.toThrow(RangeError)
    expect(client.calls()).toEqual([])
  })
})
