/** Yields the ids of all hits of a search, page by page. */
import type { HitPosition, Plan } from '../../ports/search/plan.ts'
import type { Searches } from '../../ports/search/search-index.ts'

export async function* findIds(index: Pick<Searches, 'find'>, plan: Plan): AsyncIterable<readonly string[]> {
  for (let after: HitPosition | undefined, isMore = true; isMore; ) {
    const { hits, more } = await index.find({ ...plan, ...(after === undefined ? {} : { after }) })
    if (hits.length > 0) yield hits.map(({ id }) => id)
    after = hits.at(-1)?.position
    isMore = more
  }
}
