/** Handles an outdated index until it is rebuilt. Conditional interactions are rejected, and searches get a header with a warning. */
import { MachineFault } from '../../ports/faults.ts'
import { decorateSearches, type OutdatedParameters, type Searches } from '../../ports/search/search-index.ts'

/**
 * Wraps the index for conditional interactions. Lookups throw the fault `index-outdated` if it may miss resources by a parameter of the
 * criteria.
 */
export const outdatedRejectingIndex = (index: Searches, parameters: OutdatedParameters): Searches =>
  decorateSearches(index, {
    async before(asked) {
      const codes = await parameters.outdated(asked)
      if (codes.length > 0) throw new MachineFault('index-outdated', codes.join(', '))
    },
  })

/** Combines an index of an adapter with `outdated`, which depends on FHIR and not on the adapter. */
export const outdatedReportingIndex = (index: Searches, parameters: OutdatedParameters): Searches & OutdatedParameters => ({
  ...decorateSearches(index, {}),
  outdated: (subject) => parameters.outdated(subject),
})

/** Response header of a search. It lists the codes of the parameters by which an outdated index may miss resources. */
export const OUTDATED_HEADER = 'x-index-outdated'

/**
 * Wraps the index for the searches of one request. `headers`: OUTDATED_HEADER with the parameters by which these searches may have missed
 * resources. Empty if there are none.
 */
export function outdatedWarningIndex(index: Searches & OutdatedParameters): {
  readonly index: Searches
  readonly headers: () => Readonly<Record<string, string>>
} {
  const told = new Set<string>()
  return {
    index: decorateSearches(index, {
      async before(asked) {
        for (const code of await index.outdated(asked)) told.add(code)
      },
    }),
    headers: () => (told.size === 0 ? {} : { [OUTDATED_HEADER]: [...told].toSorted().join(', ') }),
  }
}
