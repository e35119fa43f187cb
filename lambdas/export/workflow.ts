/**
 * The export as a state machine in Amazon States Language: once everything written until the transaction time is there, its segments are written
 * by many writers at once; then what they met and did not write, range by range, until nothing new comes; then the files are finished. Input
 * and output carry ids and numbers, never content. Data for the stacks and for the embedded home, which runs the very same.
 * https://states-language.net/spec.html
 */

/** Writers of one job at once; an inline map takes no more. */
const WRITERS = 40

const PAUSES = { IntervalSeconds: 2, BackoffRate: 2, MaxDelaySeconds: 120, JitterStrategy: 'FULL' }

/** Of a step that its function ended, or never answered: it had no memory left, or no time. https://docs.aws.amazon.com/step-functions/latest/dg/concepts-error-handling.html */
export const TERMINATION_ERRORS = ['Runtime.OutOfMemory', 'Runtime.ExitError', 'Sandbox.Timedout', 'Lambda.Unknown', 'States.Timeout']

/**
 * A store that fails for half an hour delays a job, whatever chance makes of the waits of its 40 writers. What ends a step each time does not
 * pass. Each step may be repeated.
 */
const RETRY = [
  { ErrorEquals: TERMINATION_ERRORS, ...PAUSES, MaxAttempts: 10 },
  { ErrorEquals: ['States.ALL'], ...PAUSES, MaxAttempts: 60 },
]

/** Steps by what they are called in the machine. */
export const STEPS = { Plan: 'plan', Write: 'write', Gather: 'gather', Collect: 'collect', Finish: 'finish', Fail: 'fail' } as const

export type StepAction = (typeof STEPS)[keyof typeof STEPS]

/** `step`: the ARN of the function that runs each of them. Its input is `{ job, attempt }`. */
export function exportWorkflow(step: string): object {
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
    MaxConcurrency: WRITERS,
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
