/** Interval tests for predicates on one field, and for the ranges of a tuple. */
import { nextDoubleAbove } from '../../../ports/search/doubles.ts'
import type { Predicate, RangeTest } from '../../../ports/search/plan.ts'

/**
 * Inclusive limits for the lower bound (`lowFrom` to `lowTo`) and the upper bound (`highFrom` to `highTo`) of an interval. If a limit is
 * NaN, no interval passes.
 */
export type IntervalBounds = { readonly lowFrom: number; readonly lowTo: number; readonly highFrom: number; readonly highTo: number }

export type IntervalTest = {
  readonly anyOf: readonly IntervalBounds[]
  /**
   * Number of consecutive intervals that are tested together. The first must pass one of `anyOf`, each further one the test at its index in
   * `others`.
   */
  readonly width: number
  readonly others: readonly IntervalBounds[]
}

type FieldTest = IntervalTest & { readonly field: string }

/**
 * Returns the test for a predicate `span` or `number`, or for `some` of them on the same field. Returns undefined for all other predicates.
 */
export function intervalTestOf(p: Predicate): FieldTest | undefined {
  if (p.kind === 'span' || p.kind === 'number') return { field: p.field, ...rangesTestOf([p], 1) }
  if (p.kind !== 'some' || p.of.length === 0) return undefined
  const tests = p.of.map(intervalTestOf)
  const [first] = tests
  if (first === undefined || tests.some((test) => test?.field !== first.field)) return undefined
  return { ...first, anyOf: tests.flatMap((test) => test?.anyOf ?? []) }
}

/**
 * Returns the test for tuples with `ranges` ranges. Each range must pass the test at its index; a range without a test passes. A tuple
 * without ranges is stored as one interval, which passes.
 */
export function rangesTestOf([first = ANY, ...others]: readonly RangeTest[], ranges: number): IntervalTest {
  return { anyOf: [boundsOf(first)], width: Math.max(1, ranges), others: others.map(boundsOf) }
}

export const isWithinBounds = (low: number, high: number, { lowFrom, lowTo, highFrom, highTo }: IntervalBounds): boolean =>
  low >= lowFrom && low <= lowTo && high >= highFrom && high <= highTo

/**
 * Returns limits that decide for a group of intervals, given their lowest lower bound and their highest upper bound. None passes if the
 * lowest exceeds `most`, or the highest is less than `least`. All pass if the lowest is at least `least` and the highest at most `most`.
 */
export const extremesOf = ({ lowFrom, lowTo, highFrom, highTo }: IntervalBounds): { readonly least: number; readonly most: number } => ({
  least: Math.max(lowFrom, highFrom),
  most: Math.min(lowTo, highTo),
})

const NEVER = Number.NEGATIVE_INFINITY
const EVER = Number.POSITIVE_INFINITY
const ANY: RangeTest = { kind: 'number', relation: 'intersects', low: NEVER, high: EVER }

/**
 * Returns the limits of a range test. Ranges and time spans exclude their upper end, intervals of numbers include theirs.
 */
function boundsOf({ kind, relation, low, high }: RangeTest): IntervalBounds {
  const end = kind === 'number' && high === EVER ? EVER : before(high)
  if (relation === 'intersects') return { lowFrom: NEVER, lowTo: end, highFrom: kind === 'number' ? low : after(low), highTo: EVER }
  return { lowFrom: low, lowTo: EVER, highFrom: NEVER, highTo: kind === 'number' ? end : high }
}

/** Returns the least double that is greater than the value. Returns NaN for Infinity, so that no interval passes. */
const after = (value: number): number => (value === EVER ? Number.NaN : value === NEVER ? -Number.MAX_VALUE : nextDoubleAbove(value))
const before = (value: number): number => -after(-value)
