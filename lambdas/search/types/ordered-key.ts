/** Index keys of a unit and a value. The value is encoded as text that sorts like the number, so a range of keys is a range of values. */
import { encodeDouble } from '../../ports/search/doubles.ts'
import type { Predicate, RangeTest } from '../../ports/search/plan.ts'

/** Sorts after every encoded number, because those consist of hexadecimal digits. */
const LAST = 'g'

/** Returns the predicate for keys that consist of the text and a number within the range. */
export const orderedRangePredicate = (field: string, text: string, { low, high }: RangeTest): Predicate => ({
  kind: 'keyRange',
  field,
  from: low === Number.NEGATIVE_INFINITY ? text : text + encodeDouble(low),
  to: text + (high === Number.POSITIVE_INFINITY ? LAST : encodeDouble(high)),
})
