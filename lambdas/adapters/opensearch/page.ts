/** Reads a page of hits. OpenSearch returns at most 10,000 hits per request, so larger or deeper pages take several requests. */
import type { Plan } from '../../ports/search/plan.ts'
import type { Hit, HitPage } from '../../ports/search/search-index.ts'
import { type HeartbeatAggregations, heartbeatAggregation, oldestHeartbeat } from './heartbeats.ts'
import type { Query } from './query.ts'
import { type FoundHit, hitOf, type SearchResponse, type SearchSession, searchAfter, sortOf } from './search-requests.ts'

const WINDOW = 10_000
/** Maximum total that an estimate returns. With more matches the total is absent. */
const COUNTED = 10_000

const TRACKED = { none: false, estimate: COUNTED + 1, accurate: true } as const

/** Returns a page of hits. `source`: fields to read of each hit. */
export async function findPage(searching: SearchSession, plan: Plan, query: Query, source: readonly string[] | false): Promise<HitPage> {
  const { types, order, limit } = plan
  const wanted = limit === 0 ? 0 : limit + 1
  const hits: Hit[] = []
  let first: SearchResponse<HeartbeatAggregations> | undefined
  let after: FoundHit['sort'] | undefined = plan.after === undefined ? undefined : searchAfter(plan.after, order)
  for (let skip = plan.skip ?? 0, isEnd = false; !isEnd; ) {
    const isSkipping = skip > 0 && (after !== undefined || skip + wanted > WINDOW)
    const size = Math.min(isSkipping ? skip : wanted - hits.length, WINDOW)
    const found: SearchResponse<HeartbeatAggregations> = await searching.search(types, {
      ...requestOf(plan, query, size),
      from: isSkipping ? 0 : skip,
      ...(after === undefined ? {} : { search_after: after }),
      _source: isSkipping ? false : source,
      ...(first === undefined ? pulseAsked(plan) : { track_total_hits: false }),
    })
    first ??= found
    if (!isSkipping) hits.push(...found.hits.hits.map(hitOf))
    skip = isSkipping ? skip - size : 0
    isEnd = found.hits.hits.length < size || (skip === 0 && hits.length >= wanted && !isSkipping)
    after = found.hits.hits.at(-1)?.sort ?? after
  }
  return { hits: hits.slice(0, limit), more: limit > 0 && hits.length > limit, ...totalOf(plan, first!), ...pulseRead(plan, first!) }
}

const pulseAsked = ({ pulse, types }: Plan) => (pulse === true ? { aggs: heartbeatAggregation(types.length) } : {})

function pulseRead({ pulse, types }: Plan, { aggregations, _shards }: SearchResponse<HeartbeatAggregations>): Pick<HitPage, 'pulse'> {
  const read = pulse === true ? oldestHeartbeat(aggregations, types.length, _shards.total) : undefined
  return read === undefined ? {} : { pulse: read }
}

/** Returns the search body of a page without its position. `size`: maximum hits. */
export const requestOf = ({ order, total, limit }: Plan, query: Query, size = limit + 1) => ({
  query,
  sort: sortOf(order),
  version: true,
  size,
  track_total_hits: TRACKED[total],
})

function totalOf(plan: Plan, { hits: { total } }: SearchResponse): { readonly total?: number } {
  if (total === undefined || (plan.total === 'estimate' && total.value > COUNTED)) return {}
  return { total: total.value }
}
