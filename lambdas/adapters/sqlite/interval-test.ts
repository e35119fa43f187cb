/** What a predicate asks of single intervals of one field. */
import type { Predicate, RangeTest } from '../../search/plan.ts'

/** What passes touches what lies between `lowest` and `highest`. */
export type IntervalTest = {
  readonly field: string
  readonly lowest: number
  readonly highest: number
  readonly passes: (low: number, high: number) => boolean
}

/** Undefined for a predicate that is about something else, or about several fields. */
export function intervalTestOf(p: Predicate): IntervalTest | undefined {
  if (p.kind === 'span' || p.kind === 'number') return { field: p.field, lowest: p.low, highest: p.high, passes: passing(p) }
  if (p.kind !== 'some' || p.of.length === 0) return undefined
  const [first, ...others] = p.of.map(intervalTestOf)
  return first === undefined ? undefined : others.reduce(either, first)
}

function either(a: IntervalTest | undefined, b: IntervalTest | undefined): IntervalTest | undefined {
  if (a === undefined || b === undefined || a.field !== b.field) return undefined
  return {
    field: a.field,
    lowest: Math.min(a.lowest, b.lowest),
    highest: Math.max(a.highest, b.highest),
    passes: (low, high) => a.passes(low, high) || b.passes(low, high),
  }
}

/** Infinity is in a number's interval when that is open to its side. */
function passing({ kind, relation, low, high }: RangeTest): IntervalTest['passes'] {
  if (kind === 'span') return relation === 'within' ? (from, to) => from >= low && to <= high : (from, to) => from < high && to > low
  const end = high === Number.POSITIVE_INFINITY ? Number.NaN : high
  return relation === 'within' ? (from, to) => from >= low && !(to >= end) : (from, to) => !(from >= end) && to >= low
}
