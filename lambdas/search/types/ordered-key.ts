/** Numbers as text that is compared like them, so that a unit and its value stand in one key. */
import { encodeDouble } from '../../ports/search/doubles.ts'
import type { Predicate, RangeTest } from '../../ports/search/plan.ts'

/** Behind every number. */
const LAST = 'g'

/** Keys that begin with the text and go on with a number that passes. */
export const orderedRangePredicate = (field: string, text: string, { low, high }: RangeTest): Predicate => ({
  kind: 'keyRange',
  field,
  from: low === Number.NEGATIVE_INFINITY ? text : text + encodeDouble(low),
  to: text + (high === Number.POSITIVE_INFINITY ? LAST : encodeDouble(high)),
})
