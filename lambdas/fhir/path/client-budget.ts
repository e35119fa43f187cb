/** Budget for work on behalf of a client: expressions, patterns and patches. It limits processor time and work items. */
import { fhirError } from '../outcome.ts'
import { runWithin } from './time-limit.ts'
import { MAX_WORK_ITEMS, TooCostly, type WorkBudget } from './work-budget.ts'

/**
 * Returns the result of `evaluate`, which may be called several times. Throws FhirError 422 `too-costly` about `subject` if `evaluate`
 * exceeds the milliseconds or the work budget. A RangeError, as for an exhausted stack, has the same effect.
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
