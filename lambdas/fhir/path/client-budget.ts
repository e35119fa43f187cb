/** Budget for everything that a client lets the server evaluate: expressions, patterns and patches. It limits time and size. */
import { fhirError } from '../outcome.ts'
import { runWithin } from './time-limit.ts'
import { MAX_WORK_ITEMS, TooCostly, type WorkBudget } from './work-budget.ts'

/**
 * Returns the result of `evaluate`, which may be called twice. Throws FhirError 422 `too-costly` about `subject` in three cases: `evaluate`
 * exceeds its milliseconds of processor time, exceeds the work budget, or nests too deep for the stack.
 */
export function evaluateWithinBudget<Result>(subject: string, milliseconds: number, evaluate: (work: WorkBudget) => Result): Result {
  try {
    return runWithin(milliseconds, () => evaluate({ left: MAX_WORK_ITEMS }))
  } catch (error) {
    if (error instanceof TooCostly || error instanceof RangeError)
      throw fhirError(422, 'too-costly', `${subject} takes too long, or too much memory`)
    throw error
  }
}
