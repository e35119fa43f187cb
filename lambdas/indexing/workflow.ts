/**
 * The rebuild of documents on AWS, as a state machine in Amazon States Language: what is pending is taken; when no function works with older
 * definitions any more, each type gets a new index; when all that is written goes there too, it is filled segment by segment, and takes over
 * in one step. Data for the stacks.
 * https://states-language.net/spec.html
 */

/** Types filled at once, at most; the rest of the width are segments of each. */
const MOST_TYPES = 4

/** What an account has room for that is new, besides the functions that answer. */
export const REBUILD_WIDTH = 2

/** Passing failures are tried again; each step may be repeated. */
const RETRY = [
  { ErrorEquals: ['States.ALL'], IntervalSeconds: 2, BackoffRate: 2, MaxAttempts: 6, MaxDelaySeconds: 60, JitterStrategy: 'FULL' },
]

/**
 * `step`: the ARN of the function that runs each of them. Input and output carry types and cursors, never content. `width`: how many of them run
 * at once.
 */
export function rebuildWorkflow(step: string, width = REBUILD_WIDTH): object {
  const types = Math.min(MOST_TYPES, Math.floor(Math.sqrt(width)))
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
              MaxConcurrency: Math.floor(width / types),
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
