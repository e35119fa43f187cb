/** Index for searches with `X-Consistency: eventual`: it answers at once and may miss the latest writes. */
import { decorateSearches, type Searches } from '../../ports/search/search-index.ts'

/**
 * Index of one search. `headers`: response header with the largest index lag of its lookups, in versions. Empty if the index reports no
 * lag.
 */
export type EventualIndex = { readonly index: Searches; readonly headers: () => Readonly<Record<string, string>> }

export function eventualIndex(index: Searches): EventualIndex {
  let lag: number | undefined
  return {
    index: decorateSearches(index, {
      plan: (plan) => ({ ...plan, eventual: true }),
      after: async (_, found) => {
        if ('lag' in found && found.lag !== undefined) lag = Math.max(lag ?? 0, found.lag)
        return found
      },
    }),
    headers: (): Readonly<Record<string, string>> => (lag === undefined ? {} : { 'x-index-lag': `${lag} versions` }),
  }
}
