/**
 * Compiles tests on intervals. OpenSearch stores closed intervals, so the query adapts the bounds of half-open ones. Infinite bounds are
 * omitted, because JSON has no infinity. https://docs.opensearch.org/latest/field-types/supported-field-types/range/
 */
import { nextDoubleAbove, nextDoubleBelow } from '../../ports/search/doubles.ts'
import type { RangeTest } from '../../ports/search/plan.ts'
import { MATCH_NONE, type Query } from './query.ts'

export type Bounds = { readonly gte?: number; readonly lte?: number }

export const boundsOf = (low: number, high: number): Bounds => ({
  ...(Number.isFinite(low) ? { gte: low + 0 } : {}),
  ...(Number.isFinite(high) ? { lte: high + 0 } : {}),
})

export function rangeQuery(field: string, { kind, relation, low, high }: RangeTest): Query {
  if (low === Number.POSITIVE_INFINITY || high === Number.NEGATIVE_INFINITY) return MATCH_NONE
  // A span excludes its end, a number interval includes it, and the range of a test always excludes it.
  if (relation === 'within') return between(field, 'within', low, kind === 'span' ? high : nextDoubleBelow(high))
  return between(field, 'intersects', kind === 'span' ? nextDoubleAbove(low) : low, nextDoubleBelow(high))
}

function between(field: string, relation: 'within' | 'intersects', from: number, to: number): Query {
  // The bounds may be exchanged by the smallest step between numbers. An interval then intersects the empty range if it contains both
  // bounds.
  if (from > to) return relation === 'within' ? MATCH_NONE : { range: { [field]: { ...boundsOf(to, from), relation: 'contains' } } }
  const bounds = boundsOf(from, to)
  return Object.keys(bounds).length === 0 ? { exists: { field } } : { range: { [field]: { ...bounds, relation } } }
}
