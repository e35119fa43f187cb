/** Reads the distinct keys of a field among the matches of a query. https://docs.opensearch.org/latest/aggregations/bucket/composite/ */
import type { Query } from './query.ts'
import type { SearchSession } from './search-requests.ts'

type Page<Bucket> = {
  readonly found?: { readonly buckets: readonly (Bucket & { readonly key: { readonly key: string } })[]; readonly after_key?: object }
}
export type Bucket = { readonly doc_count: number }

const PAGE = 10_000

/** Returns at most `limit` distinct keys, in ascending order. `field`: full name of the field. */
export async function readDistinctKeys(
  searching: SearchSession,
  types: readonly string[],
  query: Query,
  field: string,
  limit: number,
): Promise<readonly string[]> {
  const keys: string[] = []
  for await (const { key } of readBuckets<Bucket>(searching, types, query, field, Math.min(limit, PAGE))) {
    if (keys.length === limit) break
    keys.push(key)
  }
  return keys
}

/** Yields one bucket for each key of the field, in the order of the keys. Reads `size` buckets per request. */
export async function* readBuckets<More extends Bucket>(
  searching: SearchSession,
  types: readonly string[],
  query: Query,
  field: string,
  size: number,
  aggs?: object,
): AsyncGenerator<More & { readonly key: string }> {
  if (size === 0) return
  for (let after: object | undefined; ; ) {
    const composite = { size, sources: [{ key: { terms: { field } } }], ...(after === undefined ? {} : { after }) }
    const found = { composite, ...(aggs === undefined ? {} : { aggs }) }
    const { aggregations } = await searching.search<Page<More>>(types, { query, size: 0, track_total_hits: false, aggs: { found } })
    const { buckets = [], after_key } = aggregations?.found ?? {}
    for (const bucket of buckets) yield { ...bucket, key: bucket.key.key }
    if (buckets.length < size || after_key === undefined) return
    after = after_key
  }
}
