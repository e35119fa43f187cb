/**
 * The export workflow in Amazon States Language. It waits until all commits up to the transaction time are visible. Then many writers write
 * the segments in parallel. Collectors then write referenced resources, range by range, until a round finds no new ones. The last step
 * finishes the files.
 * Input and output contain ids and numbers, never data of resources. Both deployments run this definition.
 * https://states-language.net/spec.html
 */

/** Maximum concurrent writers of one job: Step Functions allows no more for an inline Map state. */
export const MAX_WRITERS = 40

const PAUSES = { IntervalSeconds: 2, BackoffRate: 2, MaxDelaySeconds: 120, JitterStrategy: 'FULL' }

/**
 * Errors of a step that was terminated or did not respond, because it lacked memory or time.
 * https://docs.aws.amazon.com/step-functions/latest/dg/concepts-error-handling.html
 */
export const TERMINATION_ERRORS = ['Runtime.OutOfMemory', 'Runtime.ExitError', 'Sandbox.Timedout', 'Lambda.Unknown', 'States.Timeout']

/** Error of a call that Lambda rejects because all executions are in use: those of the account, or those reserved for the function. */
export const THROTTLE_ERROR = 'Lambda.TooManyRequestsException'

/**
 * Retries. Their random waits cover a store outage of half an hour for all 40 writers with a probability close to 1. A step that is
 * terminated repeatedly gets fewer retries, because more do not help. Every step is idempotent.
 * Steps of many exports share the executions of the function. A rejected call waits longer, because each retry adds events to the
 * execution, and it waits as long as an execution may take.
 */
export const RETRY = [
  { ErrorEquals: [THROTTLE_ERROR], IntervalSeconds: 30, BackoffRate: 2, MaxDelaySeconds: 1_800, MaxAttempts: 200, JitterStrategy: 'FULL' },
  { ErrorEquals: TERMINATION_ERRORS, ...PAUSES, MaxAttempts: 10 },
  { ErrorEquals: ['States.ALL'], ...PAUSES, MaxAttempts: 60 },
]

/** Actions by the name of their state. */
export const STEPS = { Plan: 'plan', Write: 'write', Gather: 'gather', Collect: 'collect', Finish: 'finish', Fail: 'fail' } as const

export type StepAction = (typeof STEPS)[keyof typeof STEPS]

/**
 * Returns the state machine. `step`: ARN of the function that runs all steps. `writers`: maximum concurrent writers of a job. The input of
 * the machine is `{ job, attempt }`.
 */
export function exportWorkflow(step: string, writers = MAX_WRITERS): object {
  const ofJob = { 'job.$': '$.job', 'attempt.$': '$.attempt' }
  const task = (action: StepAction, input: object, rest: object): object => ({
    Type: 'Task',
    Resource: step,
    Parameters: { action, ...input },
    Retry: RETRY,
    ...rest,
  })
  const failing = { Catch: [{ ErrorEquals: ['States.ALL'], ResultPath: '$.error', Next: 'Fail' }] }
  const until = (name: string, action: StepAction, input: object): object => ({
    StartAt: name,
    States: {
      [name]: task(action, input, { Next: `${name}More` }),
      [`${name}More`]: { Type: 'Choice', Choices: [{ Variable: '$.more', BooleanEquals: true, Next: name }], Default: `${name}Done` },
      [`${name}Done`]: { Type: 'Succeed' },
    },
  })
  const each = (items: string, item: string, name: string, action: StepAction, next: string): object => ({
    Type: 'Map',
    ItemsPath: `$.${items}`,
    MaxConcurrency: writers,
    ItemSelector: { ...ofJob, [`${item}.$`]: '$$.Map.Item.Value' },
    ItemProcessor: { ProcessorConfig: { Mode: 'INLINE' }, ...until(name, action, { ...ofJob, [`${item}.$`]: `$.${item}` }) },
    ResultPath: null,
    Next: next,
    ...failing,
  })
  return {
    Comment: 'Writes an export into files',
    StartAt: 'Plan',
    States: {
      Plan: task('plan', ofJob, { Next: 'Planned', ...failing }),
      Planned: { Type: 'Choice', Choices: [{ Variable: '$.wait', NumericGreaterThan: 0, Next: 'UntilSettled' }], Default: 'EachSegment' },
      UntilSettled: { Type: 'Wait', SecondsPath: '$.wait', Next: 'Plan' },
      EachSegment: each('segments', 'segment', 'Write', 'write', 'Gather'),
      Gather: task('gather', ofJob, { Next: 'Gathered', ...failing }),
      Gathered: { Type: 'Choice', Choices: [{ Variable: '$.ranges[0]', IsPresent: true, Next: 'EachRange' }], Default: 'Finish' },
      EachRange: each('ranges', 'range', 'Collect', 'collect', 'Gather'),
      Finish: task('finish', ofJob, { Next: 'Done', ...failing }),
      Done: { Type: 'Succeed' },
      Fail: task('fail', { ...ofJob, 'error.$': '$.error.Error' }, { Next: 'Failed' }),
      Failed: { Type: 'Fail', Error: 'ExportFailed' },
    },
  }
}
