/** Bounds the time of work that cannot be interrupted from inside: an expression, a pattern. https://nodejs.org/api/vm.html */
import { createContext, Script } from 'node:vm'

export class TookTooLong extends Error {
  override readonly name = 'TookTooLong'
}

export type Outcome<Result> = { readonly result: Result } | { readonly error: unknown }

/** TookTooLong: the work was stopped, wherever it was. */
export function within<Result>(milliseconds: number, work: () => Result): Result {
  const [outcome] = eachWithin(milliseconds, [work])
  if ('error' in outcome!) throw outcome.error
  return outcome!.result
}

/**
 * Each may take so long; after `most` that were stopped the others are not begun. They share one watch, which costs a thousand times what
 * a short work does, as long as none takes longer.
 */
export function eachWithin<Result>(
  milliseconds: number,
  works: readonly (() => Result)[],
  most = Number.POSITIVE_INFINITY,
): readonly Outcome<Result>[] {
  const outcomes: Outcome<Result>[] = []
  for (let stopped = 0; outcomes.length < works.length; ) {
    const first = outcomes.length
    try {
      if (stopped >= most) outcomes.push({ error: new TookTooLong() })
      else
        watched(milliseconds, () => {
          while (outcomes.length < works.length) outcomes.push(outcomeOf(works[outcomes.length]!))
        })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error
      // Any but the first may have had less than its time: it gets a watch of its own.
      if (outcomes.length > first) continue
      outcomes.push({ error: new TookTooLong() })
      stopped++
    }
  }
  return outcomes
}

function outcomeOf<Result>(work: () => Result): Outcome<Result> {
  try {
    return { result: work() }
  } catch (error) {
    return { error }
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
