/**
 * Reference evaluation of search plans on single index documents. Tests compare each index with it, and the server uses it where it needs
 * no index.
 */
import { compareText, type HitPosition, metresBetween, type Predicate, type RangeTest, type SortKey } from '../ports/search/plan.ts'
import type { IndexDocument, Tuple } from '../ports/search/search-index.ts'

export function matchesPredicate(where: Predicate, document: IndexDocument): boolean {
  switch (where.kind) {
    case 'all':
      return where.of.every((each) => matchesPredicate(each, document))
    case 'some':
      return where.of.some((each) => matchesPredicate(each, document))
    case 'not':
      return !matchesPredicate(where.of, document)
    case 'key':
      return keysOf(document, where.field).some((key) => isAmong(where.oneOf, key))
    case 'keyRange':
      return keysOf(document, where.field).some(
        (key) => compareText(key, where.from) >= 0 && (where.to === undefined || compareText(key, where.to) < 0),
      )
    case 'contains':
      return keysOf(document, where.field).some((key) => key.includes(where.text))
    case 'span':
      return (document.spans[where.field] ?? []).some((span) => passes(where, span))
    case 'number':
      return (document.numbers[where.field] ?? []).some((number) => passes(where, number))
    case 'near':
      return (document.points[where.field] ?? []).some((point) => metresBetween(point, [where.latitude, where.longitude]) <= where.metres)
    case 'present':
      return document.present.includes(where.field)
    case 'tuple':
      return (document.tuples[where.field] ?? []).some((tuple) => tuplePasses(where, tuple))
    case 'compartment':
      return document.compartments.some((compartment) => isAmong(where.oneOf, compartment))
  }
}

/** Maximum length of a list that `isAmong` scans. Longer lists are converted to sets. */
const FEW = 16
const SETS = new WeakMap<readonly string[], ReadonlySet<string>>()

/**
 * Whether the list contains the text. Caches long lists as sets: the chains of an export may lead to a million keys, each compared with as
 * many documents.
 */
function isAmong(texts: readonly string[], text: string): boolean {
  if (texts.length <= FEW) return texts.includes(text)
  const set = SETS.get(texts) ?? new Set(texts)
  SETS.set(texts, set)
  return set.has(text)
}

const tuplePasses = (test: Extract<Predicate, { kind: 'tuple' }>, { key, labels, ranges }: Tuple): boolean =>
  (test.key === undefined || key === test.key) &&
  test.labels.every(({ text, whole }) => labels.some((label) => (whole ? label === text : label.startsWith(text)))) &&
  test.ranges.every((range, i) => ranges[i] !== undefined && passes(range, ranges[i]))

const keysOf = (document: IndexDocument, field: string): readonly string[] => document.keys[field] ?? []

function passes({ kind, relation, low, high }: RangeTest, [from, to]: readonly [number, number]): boolean {
  if (kind === 'span') return relation === 'within' ? from >= low && to <= high : from < high && to > low
  return relation === 'within' ? from >= low && below(to, high) : below(from, high) && to >= low
}

/** Whether the value is below `high`. Intervals exclude their upper end, except that an open interval includes infinity. */
const below = (value: number, high: number): boolean => value < high || high === Number.POSITIVE_INFINITY

/**
 * Returns the position of a document in the sorted results: its sort values (null if missing), then type and id to order documents with
 * equal values.
 */
export const sortPositionOf = ({ type, id, order }: IndexDocument, keys: readonly SortKey[]): HitPosition => ({
  values: keys.map(({ field, descending }) => order[field]?.[descending ? 'high' : 'low'] ?? null),
  type,
  id,
})
