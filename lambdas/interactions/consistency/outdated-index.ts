/** An index that was made by another release, until it is made anew: who depends on what it does not find is refused, who only searches is told. */
import { IndexOutdated } from '../../ports/faults/index-outdated.ts'
import type { SearchSubject } from '../../ports/search/plan.ts'
import type { SearchIndex } from '../../ports/search/search-index.ts'

/** Codes of the parameters that are asked by and not found reliably. */
export type OutdatedCodesOf = (asked: SearchSubject) => Promise<readonly string[]>

/** `before`: is told of all that is looked up, before it is. */
const watched = (index: SearchIndex, before: (asked: SearchSubject) => Promise<void>): SearchIndex => ({
  apply: (documents) => index.apply(documents),
  explain: (plan) => index.explain(plan),
  caughtUp: (...of) => index.caughtUp(...of),
  ...(index.outdated === undefined ? {} : { outdated: index.outdated }),
  async find(plan) {
    await before(plan)
    return index.find(plan)
  },
  async groups(plan) {
    await before(plan)
    return index.groups(plan)
  },
  async distinct(matching, field, limit) {
    await before({ ...matching, field })
    return index.distinct(matching, field, limit)
  },
})

/** For conditional interactions. IndexOutdated: nothing may be made conditional on what is not found. */
export const outdatedRejectingIndex = (index: SearchIndex, outdated: OutdatedCodesOf): SearchIndex =>
  watched(index, async (asked) => {
    const codes = await outdated(asked)
    if (codes.length > 0) throw new IndexOutdated(codes.join(', '))
  })

export const outdatedReportingIndex = (index: SearchIndex, outdated: OutdatedCodesOf): SearchIndex => ({
  ...watched(index, async () => {}),
  outdated,
})

/** The header of a search. */
export const OUTDATED_HEADER = 'x-index-outdated'

/** For the searches of one request. `headers`: which of its parameters are not found reliably, where some are. */
export function outdatedWarningIndex(index: SearchIndex): {
  readonly index: SearchIndex
  readonly headers: () => Readonly<Record<string, string>>
} {
  const { outdated } = index
  if (outdated === undefined) return { index, headers: () => ({}) }
  const told = new Set<string>()
  return {
    index: watched(index, async (asked) => {
      for (const code of await outdated(asked)) told.add(code)
    }),
    headers: () => (told.size === 0 ? {} : { [OUTDATED_HEADER]: [...told].toSorted().join(', ') }),
  }
}
