/** Handles an outdated index until it is rebuilt. Conditional interactions are rejected, and searches get a header with a warning. */
import { MachineFault } from '../../ports/faults.ts'
import type { SearchSubject } from '../../ports/search/plan.ts'
import type { OutdatedParameters, Searches } from '../../ports/search/search-index.ts'

/** Wraps the index. `before`: runs before each lookup. */
const watched = (index: Searches, before: (asked: SearchSubject) => Promise<void>): Searches => ({
  explain: (plan) => index.explain(plan),
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
export const outdatedRejectingIndex = (index: Searches, parameters: OutdatedParameters): Searches =>
  watched(index, async (asked) => {
    const codes = await parameters.outdated(asked)
    if (codes.length > 0) throw new MachineFault('index-outdated', codes.join(', '))
  })

/** Adds `outdated` to an index whose adapter does not know it. */
export const outdatedReportingIndex = (index: Searches, parameters: OutdatedParameters): Searches & OutdatedParameters => ({
  ...watched(index, async () => {}),
  outdated: (subject) => parameters.outdated(subject),
})

/** Response header of a search. It names the parameters by which an outdated index may miss resources. */
export const OUTDATED_HEADER = 'x-index-outdated'

/** Wraps the index for the searches of one request. `headers`: names the parameters by which they may have missed resources, if any. */
export function outdatedWarningIndex(index: Searches & OutdatedParameters): {
  readonly index: Searches
  readonly headers: () => Readonly<Record<string, string>>
} {
  const told = new Set<string>()
  return {
    index: watched(index, async (asked) => {
      for (const code of await index.outdated(asked)) told.add(code)
    }),
    headers: () => (told.size === 0 ? {} : { [OUTDATED_HEADER]: [...told].toSorted().join(', ') }),
  }
}
