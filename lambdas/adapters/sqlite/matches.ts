/** The documents of one type that match a predicate, as SQL: from the most selective condition, with the others as tests. */
import type { Predicate } from '../../search/plan.ts'
import { conjuncts, isDistinct, joined, type Numbers, type Sql, setOf, spanFieldOf, spansOf, sql, testOf } from './compile-plan.ts'

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
  const { set, meets, isDistinct } = driver
  return {
    candidates: isDistinct ? set : sql(`SELECT DISTINCT doc FROM (${set.text})`, ...set.values),
    tests: tests(conditions.filter((each) => !meets.includes(each))),
    everyTest,
    size,
  }
}

/** A set of documents, and the conditions all of them meet. */
type Driver = { readonly set: Sql; readonly meets: readonly Predicate[]; readonly isDistinct: boolean }

function driversOf(conditions: readonly Predicate[], numbers: Numbers): readonly Driver[] {
  const single = Map.groupBy(conditions, (condition) => {
    const field = spanFieldOf(condition)
    return field !== undefined && numbers.isSingle(field) ? field : undefined
  })
  return [...single].flatMap(([field, meets]): readonly Driver[] =>
    field === undefined
      ? meets.flatMap((condition) => {
          const set = setOf(condition, numbers)
          return set === undefined ? [] : [{ set, meets: [condition], isDistinct: isDistinct(condition) }]
        })
      : [{ set: spansOf(field, meets, numbers), meets, isDistinct: true }],
  )
}

function mostSelective(
  conditions: readonly Predicate[],
  numbers: Numbers,
  count: (set: Sql, most: number) => number,
): { readonly driver: Driver | undefined; readonly size: number } {
  const drivers = driversOf(conditions, numbers)
  // What must be searched from end to end drives only when nothing else does.
  const quick = drivers.filter(({ meets }) => meets[0]!.kind !== 'contains')
  const measured = quick.length > 0 ? quick : drivers
  if (measured.length === 0) return { driver: undefined, size: LARGE }
  for (const most of [SMALL, LARGE]) {
    let [best, fewest] = [measured[0]!, most]
    for (const each of measured) {
      const size = count(each.set, fewest)
      if (size < fewest) [best, fewest] = [each, size]
      if (fewest === 0) break
    }
    if (fewest < most) return { driver: best, size: fewest }
  }
  return { driver: measured[0]!, size: LARGE }
}
