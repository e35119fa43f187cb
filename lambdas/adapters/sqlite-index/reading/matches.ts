/** The documents of one kind that match a predicate: sets read from the index, the smallest first, each narrowed by the next. */
import { conjunctsOf, type Predicate } from '../../../ports/search/plan.ts'
import { type DocSet, difference, intersection, NO_DOCS, union } from '../lists/document-sets.ts'
import { ID_FIELD } from '../schema.ts'
import { type AccessPath, accessPathOf, type IndexSources, intervalPathOf, type LeafPredicate, presencePathOf } from './compile-plan.ts'

/** A condition of those that must all be met. `most`: at most so many documents meet it. `left`: so many meet it and those before it. */
export type ConditionStep = { readonly condition: Predicate; readonly most: number; readonly left: number }

/** `onStep` is told of each condition, in the order in which they are read. */
export function matchesOf(where: Predicate, sources: IndexSources, onStep?: (step: ConditionStep) => void): DocSet {
  return all(conjunctsOf(where), undefined, sources, onStep)
}

/** `docs`: those it is about; undefined for all of the kind. */
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

/** Infinity is not less than itself. */
const order = (a: number, b: number): number => (a === b ? 0 : a - b)

/** Those of the documents that meet the condition. */
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
