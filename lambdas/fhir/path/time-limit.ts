/** Time limits for work that cannot be interrupted from inside, such as an expression or a pattern. https://nodejs.org/api/vm.html */
import { createContext, Script } from 'node:vm'
import { TookTooLong } from './work-budget.ts'

/** Outcome of a task. `ms`: processor time in milliseconds; the limit per task if the task was stopped, 0 if it was not started. */
export type TimedOutcome<Result> = { readonly ms: number } & ({ readonly result: Result } | { readonly error: unknown })

/**
 * Returns the result of the work. Throws TookTooLong if the work was stopped, which may happen at any point. The timeout is real time. If
 * the work got less than half of the limit as processor time, it starts again with twice the timeout. It must therefore be repeatable.
 */
export function runWithin<Result>(milliseconds: number, work: () => Result): Result {
  const [outcome] = runEachWithin({ each: milliseconds }, [work])
  if ('error' in outcome!) throw outcome.error
  return outcome!.result
}

/**
 * Limits in milliseconds. `each`: timeout of a task, as for `runWithin`. `all`: processor time of all tasks. `overruns`: maximum number of
 * stopped tasks. After `all` or `overruns` is reached, the remaining tasks are not started and their error is TookTooLong.
 */
export type TimeLimits = { readonly each: number; readonly all?: number; readonly overruns?: number }

/**
 * Returns one outcome per task, in order. The tasks share one timer while none takes too long, because a timer costs a thousand times as
 * much as a short task. A task may run several times.
 */
export function runEachWithin<Result>(
  { each: milliseconds, all = Number.POSITIVE_INFINITY, overruns = Number.POSITIVE_INFINITY }: TimeLimits,
  works: readonly (() => Result)[],
): readonly TimedOutcome<Result>[] {
  const outcomes: TimedOutcome<Result>[] = []
  let [patience, left] = [milliseconds, all]
  const add = (outcome: TimedOutcome<Result>): void => {
    left -= outcome.ms
    outcomes.push(outcome)
  }
  for (let stopped = 0; outcomes.length < works.length; ) {
    const first = outcomes.length
    const before = process.threadCpuUsage()
    try {
      if (stopped >= overruns || left <= 0) add({ ms: 0, error: new TookTooLong() })
      else
        watched(patience, () => {
          while (outcomes.length < works.length && left > 0) add(outcomeOf(works[outcomes.length]!))
        })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error
      // A task after the first may have had less than its time. It runs again with its own timer.
      if (outcomes.length > first) continue
      // On a busy machine, the first task may have had less than its time too.
      if (patience < milliseconds * MAX_PATIENCE && millisecondsSince(before) < milliseconds / 2) {
        patience *= 2
        continue
      }
      add({ ms: milliseconds, error: new TookTooLong() })
      stopped++
    }
    patience = milliseconds
  }
  return outcomes
}

/** Maximum factor by which a timeout grows. It limits the time of work that makes its thread wait, for example for memory. */
const MAX_PATIENCE = 8

/** Returns the milliseconds of processor time that this thread spent since `before`. */
function millisecondsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000
}

function outcomeOf<Result>(work: () => Result): TimedOutcome<Result> {
  const before = process.threadCpuUsage()
  try {
    const result = work()
    return { ms: millisecondsSince(before), result }
  } catch (error) {
    return { ms: millisecondsSince(before), error }
  }
}

const slot: { work: () => void } = { work: () => undefined }
const SCRIPT = new Script('work()')
let context: object | undefined

function watched(timeout: number, work: () => void): void {
  context ??= createContext(slot)
  slot.work = work
  try {
    SCRIPT.runInContext(context, { timeout })
  } finally {
    slot.work = () => undefined
  }
}
