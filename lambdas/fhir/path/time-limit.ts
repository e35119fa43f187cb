/** Bounds the time of work that cannot be interrupted from inside: an expression, a pattern. https://nodejs.org/api/vm.html */
import { createContext, Script } from 'node:vm'
import { TookTooLong } from './work-budget.ts'

/** `ms`: of processor time; what it was allowed where it was stopped, 0 where it was not begun. */
export type TimedOutcome<Result> = { readonly ms: number } & ({ readonly result: Result } | { readonly error: unknown })

/**
 * TookTooLong: the work was stopped, wherever it was. It takes processor time that counts: work that had to wait for its processor is begun
 * again with more patience, so it must be possible to do it twice.
 */
export function runWithin<Result>(milliseconds: number, work: () => Result): Result {
  const [outcome] = runEachWithin({ each: milliseconds }, [work])
  if ('error' in outcome!) throw outcome.error
  return outcome!.result
}

/** ms of processor time for each work, and for all of them; `overruns`: how many may be stopped. What comes after is not begun. */
export type TimeLimits = { readonly each: number; readonly all?: number; readonly overruns?: number }

/** They share one watch, which costs a thousand times what a short work does, as long as none takes longer. */
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
      // Any but the first may have had less than its time: it gets a watch of its own.
      if (outcomes.length > first) continue
      // So may the first, on a busy machine.
      if (patience < milliseconds * MOST_PATIENCE && millisecondsSince(before) < milliseconds / 2) {
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

/** Times as long: work that makes its thread wait, as for memory, is not waited for without end. */
const MOST_PATIENCE = 8

/** Of processor time, this thread's own. */
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

const place: { work: () => void } = { work: () => undefined }
const SCRIPT = new Script('work()')
let context: object | undefined

function watched(timeout: number, work: () => void): void {
  context ??= createContext(place)
  place.work = work
  try {
    SCRIPT.runInContext(context, { timeout })
  } finally {
    place.work = () => undefined
  }
}
