/**
 * Prepares a state machine for the library `aws-local-stepfunctions`. Without a time-out, the library stops waiting for a task after a
 * minute and starts it again in parallel. After a branch of a map has failed, it continues the others and retries waiting tasks at once. So
 * each task gets the longest time-out and no Retry. `runWithRetries` retries tasks instead, and can stop when the map has failed.
 */
import { setTimeout as wait } from 'node:timers/promises'

/** Retry rule of a state. https://states-language.net/spec.html#errors */
export type Retrier = {
  readonly ErrorEquals: readonly string[]
  readonly IntervalSeconds?: number
  readonly BackoffRate?: number
  readonly MaxAttempts?: number
  readonly MaxDelaySeconds?: number
  readonly JitterStrategy?: string
}

type State = {
  readonly Type: string
  readonly Retry?: readonly Retrier[]
  readonly Catch?: readonly object[]
  readonly ItemProcessor?: Definition
}
type Definition = { readonly States: Readonly<Record<string, State>> }

/**
 * `retry`: retry rules of the task. `isInMap`: whether it is a step of a map, which runs for several items in parallel. `isCaught`: whether
 * the execution continues after its failure.
 */
export type TaskState = {
  readonly name: string
  readonly retry: readonly Retrier[]
  readonly isInMap: boolean
  readonly isCaught: boolean
}

/** `definition`: definition for the library. `waits`: names of the Wait states. */
export type PreparedStateMachine = { readonly definition: object; readonly tasks: readonly TaskState[]; readonly waits: readonly string[] }

/** Time-out in seconds: close to the maximum of a timer, and longer than any task. */
const NEVER = 2_000_000

export function prepareStateMachine(definition: object): PreparedStateMachine {
  const tasks: TaskState[] = []
  const waits: string[] = []
  const ofState = (name: string, state: State, isInMap: boolean): object => {
    const { Retry: retry = [], ...rest } = state
    if (state.Type === 'Wait') waits.push(name)
    if (state.ItemProcessor !== undefined) return { ...state, ItemProcessor: ofMachine(state.ItemProcessor, true) }
    if (state.Type !== 'Task') return state
    tasks.push({ name, retry, isInMap, isCaught: state.Catch !== undefined })
    return { ...rest, TimeoutSeconds: NEVER }
  }
  const ofMachine = (machine: Definition, isInMap: boolean): object => ({
    ...machine,
    States: Object.fromEntries(Object.entries(machine.States).map(([name, state]) => [name, ofState(name, state, isInMap)])),
  })
  return { definition: ofMachine(definition as Definition, false), tasks, waits }
}

/** Resolves after `ms` milliseconds. Rejects when the signal is aborted. */
export type Pause = (ms: number, signal: AbortSignal) => Promise<void>

export const abortablePause: Pause = (ms, signal) => wait(ms, undefined, { signal })

export async function runWithRetries<Result>(
  work: () => Promise<Result>,
  retry: readonly Retrier[],
  { pause, signal }: { readonly pause: Pause; readonly signal: AbortSignal },
): Promise<Result> {
  const failures = retry.map(() => 0)
  for (;;) {
    try {
      return await work()
    } catch (error) {
      const i = retry.findIndex(({ ErrorEquals }) => ErrorEquals.includes('States.ALL') || ErrorEquals.includes((error as Error).name))
      const retrier = retry[i]
      if (retrier === undefined || failures[i]! >= (retrier.MaxAttempts ?? 3)) throw error
      await pause(waitOf(retrier, failures[i]!++), signal)
      signal.throwIfAborted()
    }
  }
}

/** Returns the pause before the next attempt, in milliseconds. `before`: earlier attempts that failed by this rule. */
function waitOf({ IntervalSeconds = 1, BackoffRate = 2, MaxDelaySeconds = NEVER, JitterStrategy }: Retrier, before: number): number {
  const seconds = Math.min(IntervalSeconds * BackoffRate ** before, MaxDelaySeconds)
  return seconds * 1_000 * (JitterStrategy === 'FULL' ? Math.random() : 1)
}
