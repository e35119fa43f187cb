/** Numbers as texts that sort like the numbers, so that one key holds a unit and its value. */
import { encodeDouble } from '../../ports/search/doubles.ts'
import type { Predicate, RangeTest } from '../../ports/search/plan.ts'

/** Text that sorts after every number. */
const LAST = 'g'

/** Returns the predicate for keys that begin with the text, followed by a number in the range. */
export const orderedRangePredicate = (field: string, text: string, { low, high }: RangeTest): Predicate => ({
  kind: 'keyRange',
  field,
  from: low === Number.NEGATIVE_INFINITY ? text : text + encodeDouble(low),
  to: text + (high === Number.POSITIVE_INFINITY ? LAST : encodeDouble(high)),
})
