/** Handles an outdated index until it is rebuilt. Conditional interactions are rejected, and searches get a header with a warning. */
import { MachineFault } from '../../ports/faults.ts'
import type { SearchSubject } from '../../ports/search/plan.ts'
import type { SearchIndex } from '../../ports/search/search-index.ts'

/** Returns the codes of the requested parameters by which an outdated index may miss resources. */
export type OutdatedCodesOf = (asked: SearchSubject) => Promise<readonly string[]>

/** Wraps the index. `before`: runs before each lookup. */
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

/** Wraps the index for conditional interactions. Lookups throw the fault `index-outdated` if the index may miss resources. */
export const outdatedRejectingIndex = (index: SearchIndex, outdated: OutdatedCodesOf): SearchIndex =>
  watched(index, async (asked) => {
    const codes = await outdated(asked)
    if (codes.length > 0) throw new MachineFault('index-outdated', codes.join(', '))
  })

export const outdatedReportingIndex = (index: SearchIndex, outdated: OutdatedCodesOf): SearchIndex => ({
  ...watched(index, async () => {}),
  outdated,
})

/** Response header of a search. It names the parameters by which an outdated index may miss resources. */
export const OUTDATED_HEADER = 'x-index-outdated'

/** Wraps the index for the searches of one request. `headers`: names the parameters by which they may have missed resources, if any. */
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
