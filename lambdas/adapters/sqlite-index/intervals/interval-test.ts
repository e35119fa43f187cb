/** Interval tests for predicates on one field, and for the ranges of a tuple. */
import { nextDoubleAbove } from '../../../ports/search/doubles.ts'
import type { Predicate, RangeTest } from '../../../ports/search/plan.ts'

/** Inclusive limits for both ends of an interval. NaN: no interval passes. */
export type IntervalBounds = { readonly lowFrom: number; readonly lowTo: number; readonly highFrom: number; readonly highTo: number }

export type IntervalTest = {
  readonly anyOf: readonly IntervalBounds[]
  /** Number of intervals per entry. `anyOf` tests the first interval, `others` the following ones. */
  readonly width: number
  readonly others: readonly IntervalBounds[]
}

type FieldTest = IntervalTest & { readonly field: string }

/** Returns undefined for other predicates, and for predicates on several fields. */
export function intervalTestOf(p: Predicate): FieldTest | undefined {
  if (p.kind === 'span' || p.kind === 'number') return { field: p.field, ...rangesTestOf([p], 1) }
  if (p.kind !== 'some' || p.of.length === 0) return undefined
  const tests = p.of.map(intervalTestOf)
  const [first] = tests
  if (first === undefined || tests.some((test) => test?.field !== first.field)) return undefined
  return { ...first, anyOf: tests.flatMap((test) => test?.anyOf ?? []) }
}

/**
 * Returns the test for tuples with `ranges` ranges. Each test applies to the range at its index. A tuple without ranges has one interval
 * that passes.
 */
export function rangesTestOf([first = ANY, ...others]: readonly RangeTest[], ranges: number): IntervalTest {
  return { anyOf: [boundsOf(first)], width: Math.max(1, ranges), others: others.map(boundsOf) }
}

export const isWithinBounds = (low: number, high: number, { lowFrom, lowTo, highFrom, highTo }: IntervalBounds): boolean =>
  low >= lowFrom && low <= lowTo && high >= highFrom && high <= highTo

/**
 * Returns the bounds that decide for several intervals between two numbers. Some may pass if the lower number is at most `most` and the
 * upper one at least `least`. All pass if the lower number is at least `least` and the upper one at most `most`.
 */
export const extremesOf = ({ lowFrom, lowTo, highFrom, highTo }: IntervalBounds): { readonly least: number; readonly most: number } => ({
  least: Math.max(lowFrom, highFrom),
  most: Math.min(lowTo, highTo),
})

const NEVER = Number.NEGATIVE_INFINITY
const EVER = Number.POSITIVE_INFINITY
const ANY: RangeTest = { kind: 'number', relation: 'intersects', low: NEVER, high: EVER }

/** Infinity is part of an interval of numbers that is unbounded on that side. */
function boundsOf({ kind, relation, low, high }: RangeTest): IntervalBounds {
  const end = kind === 'number' && high === EVER ? EVER : before(high)
  if (relation === 'intersects') return { lowFrom: NEVER, lowTo: end, highFrom: kind === 'number' ? low : after(low), highTo: EVER }
  return { lowFrom: low, lowTo: EVER, highFrom: NEVER, highTo: kind === 'number' ? end : high }
}

/** Returns the next double above. NaN: there is none, and no interval passes. */
const after = (value: number): number => (value === EVER ? Number.NaN : value === NEVER ? -Number.MAX_VALUE : nextDoubleAbove(value))
const before = (value: number): number => -after(-value)
