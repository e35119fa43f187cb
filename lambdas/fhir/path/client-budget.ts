/** What a client lets the server evaluate: expressions, patterns, patches. It has a budget of time and of size, whatever it is. */
import { fhirError } from '../outcome.ts'
import { runWithin } from './time-limit.ts'
import { MAX_WORK_ITEMS, TooCostly, type WorkBudget } from './work-budget.ts'

/**
 * FhirError 422 `too-costly` about `what` where `evaluate` takes more than so many milliseconds of processor time, spends more work than
 * there is, or nests too deep to be evaluated. It may be called twice.
 */
export function evaluateWithinBudget<Result>(what: string, milliseconds: number, evaluate: (work: WorkBudget) => Result): Result {
  try {
    return runWithin(milliseconds, () => evaluate({ left: MAX_WORK_ITEMS }))
  } catch (error) {
    if (error instanceof TooCostly || error instanceof RangeError)
      throw fhirError(422, 'too-costly', `${what} takes too long, or too much memory`)
    throw error
  }
}
