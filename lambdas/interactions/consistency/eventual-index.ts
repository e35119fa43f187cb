/** Index for searches with `X-Consistency: eventual`: it answers at once and may miss the latest writes. */
import type { HitPage, Searches } from '../../ports/search/search-index.ts'

/** Index of one search, and the headers of its response. `headers`: index lag in versions, if the index reports it. */
export type EventualIndex = { readonly index: Searches; readonly headers: () => Readonly<Record<string, string>> }

export function eventualIndex(index: Searches): EventualIndex {
  let lag: number | undefined
  const told = <Page extends Pick<HitPage, 'lag'>>(page: Page): Page => {
    if (page.lag !== undefined) lag = Math.max(lag ?? 0, page.lag)
    return page
  }
  return {
    index: {
      find: async (plan) => told(await index.find({ ...plan, eventual: true })),
      groups: async (plan) => told(await index.groups({ ...plan, eventual: true })),
      distinct: (matching, field, limit) => index.distinct({ ...matching, eventual: true }, field, limit),
      explain: (plan) => index.explain({ ...plan, eventual: true }),
    },
    headers: (): Readonly<Record<string, string>> => (lag === undefined ? {} : { 'x-index-lag': `${lag} versions` }),
  }
}
