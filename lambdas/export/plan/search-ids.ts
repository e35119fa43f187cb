/** The ids a search comes to, page by page. */
import type { Plan, Position } from '../../ports/search/plan.ts'
import type { SearchIndex } from '../../ports/search/search-index.ts'

export async function* foundIds(index: Pick<SearchIndex, 'find'>, plan: Plan): AsyncIterable<readonly string[]> {
  for (let after: Position | undefined, isMore = true; isMore; ) {
    const { hits, more } = await index.find({ ...plan, ...(after === undefined ? {} : { after }) })
    if (hits.length > 0) yield hits.map(({ id }) => id)
    after = hits.at(-1)?.position
    isMore = more
  }
}
