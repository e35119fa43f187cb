/**
 * Rebuild workflow on AWS, as a state machine in Amazon States Language. `take` takes the pending rebuilds, and the workflow waits until no
 * function uses older definitions. `open` chooses or creates an index for each type, and the workflow waits until all functions write to it
 * too. `fill` indexes each segment. `swap` makes the index serve. Then `take` looks for new rebuilds.
 * https://states-language.net/spec.html
 */

/** Maximum types rebuilt concurrently. The width divided by their number is the maximum of concurrent segments of each type. */
const MOST_TYPES = 4

/**
 * Default width: maximum segments filled concurrently. The concurrency of a new AWS account allows this many beside the functions that
 * answer requests.
 */
export const REBUILD_WIDTH = 2

/** Retries a failed step up to six times, whatever the error. All steps may be repeated. */
const RETRY = [
  { ErrorEquals: ['States.ALL'], IntervalSeconds: 2, BackoffRate: 2, MaxAttempts: 6, MaxDelaySeconds: 60, JitterStrategy: 'FULL' },
]

/** Returns how many types are rebuilt concurrently, and how many segments of each of them. */
export function rebuildParallelism(width: number): { readonly types: number; readonly segments: number } {
  const types = Math.min(MOST_TYPES, Math.floor(Math.sqrt(width)))
  return { types, segments: Math.floor(width / types) }
}

/**
 * Returns the state machine. `step`: ARN of the Lambda function that runs each step. `width`: maximum segments filled concurrently. Input
 * and output hold types and cursors, never resource content.
 */
export function rebuildWorkflow(step: string, width = REBUILD_WIDTH): object {
  const { types, segments } = rebuildParallelism(width)
  const task = (action: string, input: object, rest: object): object => ({
    Type: 'Task',
    Resource: step,
    Parameters: { action, ...input },
    Retry: RETRY,
    ...rest,
  })
  const ofType = { 'type.$': '$.type', 'attempt.$': '$.attempt' }
  return {
    Comment: 'Makes the documents of types again while the index is searched and followed',
    StartAt: 'Take',
    States: {
      Take: task('take', { 'execution.$': '$$.Execution.Name' }, { Next: 'Anything' }),
      Anything: { Type: 'Choice', Choices: [{ Variable: '$.pending', BooleanEquals: true, Next: 'UntilAllKnow' }], Default: 'Done' },
      UntilAllKnow: { Type: 'Wait', SecondsPath: '$.wait', Next: 'EachType' },
      EachType: {
        Type: 'Map',
        ItemsPath: '$.types',
        MaxConcurrency: types,
        ItemProcessor: {
          ProcessorConfig: { Mode: 'INLINE' },
          StartAt: 'Open',
          States: {
            Open: task('open', ofType, { Next: 'Empty' }),
            Empty: { Type: 'Choice', Choices: [{ Variable: '$.isEmpty', BooleanEquals: true, Next: 'Swap' }], Default: 'UntilAllFollow' },
            UntilAllFollow: { Type: 'Wait', SecondsPath: '$.wait', Next: 'EachSegment' },
            EachSegment: {
              Type: 'Map',
              ItemsPath: '$.segments',
              MaxConcurrency: segments,
              ResultPath: null,
              ItemProcessor: {
                ProcessorConfig: { Mode: 'INLINE' },
                StartAt: 'Fill',
                States: {
                  Fill: task('fill', { 'segment.$': '$' }, { Next: 'More' }),
                  More: { Type: 'Choice', Choices: [{ Variable: '$.more', BooleanEquals: true, Next: 'Fill' }], Default: 'Filled' },
                  Filled: { Type: 'Succeed' },
                },
              },
              Next: 'Swap',
            },
            Swap: task('swap', { ...ofType, 'next.$': '$.next' }, { End: true }),
          },
        },
        ResultPath: null,
        Next: 'Take',
      },
      Done: { Type: 'Succeed' },
    },
  }
}
