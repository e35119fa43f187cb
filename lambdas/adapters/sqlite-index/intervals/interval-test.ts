/** What a predicate asks of single intervals of one field, or of the ranges of a tuple. */
import { nextDoubleAbove } from '../../../ports/search/doubles.ts'
import type { Predicate, RangeTest } from '../../../ports/search/plan.ts'

/** The ends of an interval, each from one number to another, these among them. NaN: no interval passes. */
export type IntervalBounds = { readonly lowFrom: number; readonly lowTo: number; readonly highFrom: number; readonly highTo: number }

export type IntervalTest = {
  readonly anyOf: readonly IntervalBounds[]
  /** Intervals of an entry, of which `anyOf` is asked of the first, and these of those after it. */
  readonly width: number
  readonly others: readonly IntervalBounds[]
}

type FieldTest = IntervalTest & { readonly field: string }

/** Undefined for a predicate that is about something else, or about several fields. */
export function intervalTestOf(p: Predicate): FieldTest | undefined {
  if (p.kind === 'span' || p.kind === 'number') return { field: p.field, ...rangesTestOf([p], 1) }
  if (p.kind !== 'some' || p.of.length === 0) return undefined
  const tests = p.of.map(intervalTestOf)
  const [first] = tests
  if (first === undefined || tests.some((test) => test?.field !== first.field)) return undefined
  return { ...first, anyOf: tests.flatMap((test) => test?.anyOf ?? []) }
}

/** Of tuples with so many ranges: each of the first passes the test of its place. One without ranges has an interval that passes. */
export function rangesTestOf([first = ANY, ...others]: readonly RangeTest[], ranges: number): IntervalTest {
  return { anyOf: [boundsOf(first)], width: Math.max(1, ranges), others: others.map(boundsOf) }
}

export const isWithinBounds = (low: number, high: number, { lowFrom, lowTo, highFrom, highTo }: IntervalBounds): boolean =>
  low >= lowFrom && low <= lowTo && high >= highFrom && high <= highTo

/**
 * Of intervals between two numbers some may pass if the lower one is at most `most` and the upper one at least `least`. All of them do if the
 * lower one is at least `least` and the upper one at most `most`.
 */
export const extremesOf = ({ lowFrom, lowTo, highFrom, highTo }: IntervalBounds): { readonly least: number; readonly most: number } => ({
  least: Math.max(lowFrom, highFrom),
  most: Math.min(lowTo, highTo),
})

const NEVER = Number.NEGATIVE_INFINITY
const EVER = Number.POSITIVE_INFINITY
const ANY: RangeTest = { kind: 'number', relation: 'intersects', low: NEVER, high: EVER }

/** Infinity is in a number's interval when that is open to its side. */
function boundsOf({ kind, relation, low, high }: RangeTest): IntervalBounds {
  const end = kind === 'number' && high === EVER ? EVER : before(high)
  if (relation === 'intersects') return { lowFrom: NEVER, lowTo: end, highFrom: kind === 'number' ? low : after(low), highTo: EVER }
  return { lowFrom: low, lowTo: EVER, highFrom: NEVER, highTo: kind === 'number' ? end : high }
}

/** NaN: there is none, and no interval passes. */
const after = (value: number): number => (value === EVER ? Number.NaN : value === NEVER ? -Number.MAX_VALUE : nextDoubleAbove(value))
const before = (value: number): number => -after(-value)
