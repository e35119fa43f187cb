/** The documents of one type that match a predicate, as SQL: from the most selective condition, with the others as tests. */
import type { Predicate } from '../../search/plan.ts'
import { conjuncts, isDistinct, joined, type Numbers, type Sql, setOf, sql, testOf } from './compile-plan.ts'

export type Matches = {
  /** The documents to look at, once each: a query for `doc`. */
  readonly candidates: Sql
  /** Conditions on `c.doc` that candidates must also meet. */
  readonly tests: Sql
  /** All conditions on `c.doc`. */
  readonly everyTest: Sql
  /** How many candidates there are; LARGE for many, or not known. */
  readonly size: number
}

/** Conditions are compared by their sizes up to here. */
export const LARGE = 20_000

/** Sizes are first looked for up to here: mostly one condition is that selective. */
const SMALL = 500

/** `count`: rows of a query, at most so many. `all`: the query for all documents of the type. */
export function matchesOf(where: Predicate, numbers: Numbers, all: Sql, count: (set: Sql, most: number) => number): Matches {
  const conditions = conjuncts(where)
  const { driver, size } = mostSelective(conditions, numbers, count)
  const tests = (of: readonly Predicate[]): Sql =>
    joined(
      of.map((each) => testOf(each, numbers)),
      ' AND ',
      '1',
    )
  const everyTest = tests(conditions)
  if (driver === undefined) return { candidates: all, tests: everyTest, everyTest, size: LARGE }
  const set = setOf(driver, numbers)!
  return {
    candidates: isDistinct(driver) ? set : sql(`SELECT DISTINCT doc FROM (${set.text})`, ...set.values),
    tests: tests(conditions.filter((each) => each !== driver)),
    everyTest,
    size,
  }
}

function mostSelective(
  conditions: readonly Predicate[],
  numbers: Numbers,
  count: (set: Sql, most: number) => number,
): { readonly driver: Predicate | undefined; readonly size: number } {
  const sets = conditions.flatMap((condition) => {
    const set = setOf(condition, numbers)
    return set === undefined ? [] : [{ condition, set }]
  })
  // What must be searched from end to end drives only when nothing else does.
  const quick = sets.filter(({ condition }) => condition.kind !== 'contains')
  const measured = quick.length > 0 ? quick : sets
  if (measured.length === 0) return { driver: undefined, size: LARGE }
  for (const most of [SMALL, LARGE]) {
    let [best, fewest] = [measured[0]!, most]
    for (const each of measured) {
      const size = count(each.set, fewest)
      if (size < fewest) [best, fewest] = [each, size]
      if (fewest === 0) break
    }
    if (fewest < most) return { driver: best.condition, size: fewest }
  }
  return { driver: measured[0]!.condition, size: LARGE }
}
