/** Numbers as text that is compared like them, so that a unit and its value stand in one key. */
import type { Predicate, RangeTest } from '../plan.ts'

const BITS = new DataView(new ArrayBuffer(8))
const SIGN = 1n << 63n

/** Sixteen hexadecimal digits, ordered by code point as the doubles are by value. */
export function orderedKey(value: number): string {
  BITS.setFloat64(0, value + 0)
  const bits = BITS.getBigUint64(0)
  return ((bits & SIGN) === 0n ? bits | SIGN : BigInt.asUintN(64, ~bits)).toString(16).padStart(16, '0')
}

/** Behind every ordered key. */
const LAST = 'g'

/** Keys that begin with the text and go on with a number that passes. */
export const orderedRange = (field: string, text: string, { low, high }: RangeTest): Predicate => ({
  kind: 'keyRange',
  field,
  from: low === Number.NEGATIVE_INFINITY ? text : text + orderedKey(low),
  to: text + (high === Number.POSITIVE_INFINITY ? LAST : orderedKey(high)),
})
