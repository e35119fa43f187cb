/** What a predicate asks of single intervals of one field, or of the ranges of a tuple. */
import type { Predicate, RangeTest } from '../../search/plan.ts'

type Passes = (low: number, high: number) => boolean

/** What passes touches what lies between `lowest` and `highest`. */
export type IntervalTest = {
  readonly lowest: number
  readonly highest: number
  readonly passes: Passes
  /** Intervals of an entry, of which `passes` is asked of the first, and these of those after it. */
  readonly width: number
  readonly others: readonly Passes[]
}

type FieldTest = IntervalTest & { readonly field: string }

/** Undefined for a predicate that is about something else, or about several fields. */
export function intervalTestOf(p: Predicate): FieldTest | undefined {
  if (p.kind === 'span' || p.kind === 'number') return { field: p.field, ...rangesTestOf([p], 1) }
  if (p.kind !== 'some' || p.of.length === 0) return undefined
  const [first, ...others] = p.of.map(intervalTestOf)
  return first === undefined ? undefined : others.reduce(either, first)
}

/** Of tuples with so many ranges: each of the first passes the test of its place. One without ranges has an interval that passes. */
export function rangesTestOf([first = ANY, ...others]: readonly RangeTest[], ranges: number): IntervalTest {
  return { lowest: first.low, highest: first.high, passes: passing(first), width: Math.max(1, ranges), others: others.map(passing) }
}

const ANY: RangeTest = { kind: 'number', relation: 'intersects', low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY }

function either(a: FieldTest | undefined, b: FieldTest | undefined): FieldTest | undefined {
  if (a === undefined || b === undefined || a.field !== b.field) return undefined
  return {
    ...a,
    lowest: Math.min(a.lowest, b.lowest),
    highest: Math.max(a.highest, b.highest),
    passes: (low, high) => a.passes(low, high) || b.passes(low, high),
  }
}

/** Infinity is in a number's interval when that is open to its side. */
function passing({ kind, relation, low, high }: RangeTest): Passes {
  if (kind === 'span') return relation === 'within' ? (from, to) => from >= low && to <= high : (from, to) => from < high && to > low
  const end = high === Number.POSITIVE_INFINITY ? Number.NaN : high
  return relation === 'within' ? (from, to) => from >= low && !(to >= end) : (from, to) => !(from >= end) && to >= low
}
