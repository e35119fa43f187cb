/**
 * Rebuild workflow on AWS, as a state machine in Amazon States Language. `next` does what is due, such as taking the pending rebuilds,
 * planning them, or letting a full index serve. It returns what follows: itself again, a wait, `fill`, or the end. The iterations of `fill`
 * index segments at the same time. All progress is stored (rebuild-progress.ts), so another execution can continue.
 * https://states-language.net/spec.html
 */

/**
 * Number of this workflow. Executions keep the definition that they began with, so a step may receive the input of an earlier one
 * (earlier-workflow.ts).
 */
export const WORKFLOW = 2

/**
 * Default width: segments filled at the same time. The concurrency of a new AWS account allows this many beside the functions that answer
 * requests.
 */
export const REBUILD_WIDTH = 2

/** Maximum concurrent iterations of an inline map. https://docs.aws.amazon.com/step-functions/latest/dg/state-map-inline.html */
export const MAX_WIDTH = 40

/**
 * Steps after which an execution ends. The sweep of the next minute starts another one. Step Functions ends an execution after 25,000
 * events, and a step has 7 to 9, and 3 more each time that it fails.
 */
export const MAX_STEPS = 2_000

/** Maximum types whose next indices are filled at the same time. */
export const MAX_TYPES = 4

/** Retries a failed step up to six times, whatever the error. All steps may be repeated. */
const RETRY = [
  { ErrorEquals: ['States.ALL'], IntervalSeconds: 2, BackoffRate: 2, MaxAttempts: 6, MaxDelaySeconds: 60, JitterStrategy: 'FULL' },
]

/**
 * Returns the state machine. `step`: ARN of the Lambda function that runs each step. `width`: segments filled at the same time. Input and
 * output hold types and numbers, never resource content.
 */
export function rebuildWorkflow(step: string, width = REBUILD_WIDTH): object {
  const task = (action: string, input: object, rest: object): object => ({
    Type: 'Task',
    Resource: step,
    Parameters: { action, workflow: WORKFLOW, ...input },
    Retry: RETRY,
    ...rest,
  })
  const follows = (what: string, Next: string): object => ({ Variable: '$.follows', StringEquals: what, Next })
  return {
    Comment: 'Makes the documents of types again while the index is searched and followed',
    StartAt: 'Step',
    States: {
      Step: task('next', { 'execution.$': '$$.Execution.Name', width }, { Next: 'Follows' }),
      Follows: {
        Type: 'Choice',
        Choices: [follows('fill', 'EachLane'), follows('wait', 'Pause'), follows('end', 'Done'), follows('failure', 'Failed')],
        Default: 'Step',
      },
      Pause: { Type: 'Wait', SecondsPath: '$.wait', Next: 'Step' },
      EachLane: {
        Type: 'Map',
        ItemsPath: '$.lanes',
        MaxConcurrency: width,
        ResultPath: null,
        ItemProcessor: {
          ProcessorConfig: { Mode: 'INLINE' },
          StartAt: 'Fill',
          States: {
            // A segment that always fails ends only its iteration. The others continue with the other segments.
            Fill: task('fill', { 'lane.$': '$' }, { Catch: [{ ErrorEquals: ['States.ALL'], Next: 'Filled' }], Next: 'More' }),
            More: { Type: 'Choice', Choices: [{ Variable: '$.more', BooleanEquals: true, Next: 'Fill' }], Default: 'Filled' },
            Filled: { Type: 'Succeed' },
          },
        },
        Next: 'Step',
      },
      Done: { Type: 'Succeed' },
      Failed: { Type: 'Fail', Error: 'SegmentFailed', Cause: 'The next execution tries the failed segments again.' },
    },
  }
}
