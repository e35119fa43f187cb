/**
 * Finds the documents of one kind that match a predicate. It reads the condition with the lowest estimate first, then narrows the result by
 * each further condition.
 */
import { conjunctsOf, type Predicate } from '../../../ports/search/plan.ts'
import { type DocSet, difference, intersection, NO_DOCS, union } from '../lists/document-sets.ts'
import { ID_FIELD } from '../schema.ts'
import { type AccessPath, accessPathOf, type IndexSources, intervalPathOf, type LeafPredicate, presencePathOf } from './compile-plan.ts'

/**
 * One of several conditions that must all hold. `most`: upper bound for the number of documents that meet it. `left`: number of documents
 * that meet it and the conditions before it.
 */
export type ConditionStep = { readonly condition: Predicate; readonly most: number; readonly left: number }

/**
 * Returns the matching documents. `onStep`: called after each condition that was read. Once no document is left, further conditions are not
 * read.
 */
export function matchesOf(where: Predicate, sources: IndexSources, onStep?: (step: ConditionStep) => void): DocSet {
  return all(conjunctsOf(where), undefined, sources, onStep)
}

/** Returns the documents that meet all conditions. `docs`: documents to consider; undefined: all of the kind. */
function all(
  conditions: readonly Predicate[],
  docs: DocSet | undefined,
  sources: IndexSources,
  onStep?: (step: ConditionStep) => void,
): DocSet {
  if (conditions.length === 1 && onStep === undefined) return meeting(conditions[0]!, docs, sources)
  const sized = conditions.map((condition) => ({ condition, most: estimate(condition, sources) })).sort((a, b) => order(a.most, b.most))
  let left = docs
  for (const { condition, most } of sized) {
    left = meeting(condition, left, sources)
    onStep?.({ condition, most, left: left.length })
    if (left.length === 0) return NO_DOCS
  }
  return left ?? presencePathOf(ID_FIELD, sources)?.read(undefined) ?? NO_DOCS
}

/** Compares two estimates. It avoids Infinity minus Infinity, which is NaN. */
const order = (a: number, b: number): number => (a === b ? 0 : a - b)

/** Returns the documents that meet the condition. `docs`: documents to consider; undefined: all of the kind. */
function meeting(p: Predicate, docs: DocSet | undefined, sources: IndexSources): DocSet {
  if (docs?.length === 0) return NO_DOCS
  const intervals = intervalPathOf(p, sources)
  if (intervals !== undefined) return readAmong(intervals, docs)
  switch (p.kind) {
    case 'all':
      return all(conjunctsOf(p), docs, sources)
    case 'some':
      return union(p.of.map((each) => meeting(each, docs, sources)))
    case 'not': {
      const among = docs ?? all([], undefined, sources)
      return difference(among, meeting(p.of, among, sources))
    }
    default:
      return readAmong(accessPathOf(p, sources), docs)
  }
}

function readAmong(reading: AccessPath | undefined, docs: DocSet | undefined): DocSet {
  if (reading === undefined) return NO_DOCS
  const read = reading.read(docs)
  return docs === undefined ? read : intersection(docs, read)
}

function estimate(p: Predicate, sources: IndexSources): number {
  const intervals = intervalPathOf(p, sources)
  if (intervals !== undefined) return intervals.estimate()
  switch (p.kind) {
    case 'all':
      return Math.min(...p.of.map((each) => estimate(each, sources)))
    case 'some':
      return p.of.reduce((sum, each) => sum + estimate(each, sources), 0)
    case 'not':
      return Number.POSITIVE_INFINITY
    default:
      return accessPathOf(p satisfies LeafPredicate, sources)?.estimate() ?? 0
  }
}
