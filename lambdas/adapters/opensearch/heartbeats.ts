/**
 * Heartbeat of an index: a document in each of its shards, whose version is the instant at which the heartbeat was sent. Shards make their
 * documents visible to searches independently of each other, so each shows only for itself which versions a search covers. The document
 * belongs to no tenant, so no search finds it. A search reads it by an aggregation, from the same state of the shards.
 * https://docs.opensearch.org/latest/aggregations/bucket/global/
 */
import { BULK_TIMEOUT, type Cluster, type ClusterRequest, OpenSearchError, SHARDS_FAILED } from './cluster.ts'
import { type SearchResponse, STRICT } from './search-requests.ts'
import { shardRoutings } from './shard-routing.ts'

/**
 * Id of the heartbeat in each shard. Ids of resources' documents contain `~`, so none equals it. A shard has at most one document of an id,
 * so as many heartbeats as shards mean that each shard has one.
 */
const ID = 'pulse'

/** Aggregation by which a search in `count` indices also reads their heartbeats. */
export const heartbeatAggregation = (count: number) => ({
  pulse: {
    global: {},
    aggs: {
      of: {
        filter: { ids: { values: [ID] } },
        aggs: { sent: { min: { field: 'lastUpdated' } }, indices: { terms: { field: '_index', size: Math.max(1, count) } } },
      },
    },
  },
})

export type HeartbeatAggregations = {
  readonly pulse?: {
    readonly of: {
      readonly doc_count: number
      readonly sent: { readonly value: number | null }
      readonly indices: { readonly buckets: readonly unknown[] }
    }
  }
}

/**
 * Returns the oldest heartbeat of the searched shards, or undefined if one has none. `count`: number of indices. `shards`: those that the
 * search reached.
 */
export function oldestHeartbeat(answer: HeartbeatAggregations | undefined, count: number, shards: number): number | undefined {
  const { doc_count = 0, sent, indices } = answer?.pulse?.of ?? {}
  // guard: heartbeat-of-every-shard
  if (doc_count < shards) return undefined
  return (indices?.buckets.length ?? 0) < count ? undefined : (sent?.value ?? undefined)
}

/** An index with its shards. `alias`: alias of the index, or its name. */
export type AliasedIndex = { readonly alias: string; readonly index: string; readonly shards: number }

type MultiGetResponse = { readonly docs: readonly { readonly _version?: number; readonly error?: unknown }[] }
const NONE: MultiGetResponse = { docs: [] }

/**
 * Returns the heartbeats of the indices, even if not yet visible to searches: of each the oldest of its shards. 0: a shard has none.
 * undefined: the index or a shard is missing.
 */
export async function readHeartbeats(
  cluster: Cluster,
  indices: readonly (AliasedIndex | undefined)[],
): Promise<readonly (number | undefined)[]> {
  const docs = indices.flatMap((each) => (each === undefined ? [] : documentsOf(each)))
  const found = docs.length === 0 ? NONE : await cluster.send<MultiGetResponse>({ method: 'POST', path: '/_mget', body: { docs } })
  const left = [...found.docs]
  return indices.map((each) => {
    if (each === undefined) return undefined
    const own = left.splice(0, each.shards)
    const isWhole = own.length === each.shards && own.every(({ error }) => error === undefined)
    return isWhole ? Math.min(...own.map(({ _version = 0 }) => _version)) : undefined
  })
}

const documentsOf = ({ index, shards }: AliasedIndex) =>
  shardRoutings(shards).map((routing) => ({ _index: index, _id: ID, ...withRouting(routing), _source: false }))

const withRouting = (routing: string | undefined) => (routing === undefined ? {} : { routing })

/**
 * Writes the heartbeat to every shard. Returns for each index whether all its shards have this or a later one. A missing shard affects only
 * its index. It does not retry: an index that is restored before a retry would get the heartbeat, although it lacks earlier versions.
 */
export async function writeHeartbeat(cluster: Cluster, indices: readonly AliasedIndex[], sent: number): Promise<readonly boolean[]> {
  if (indices.length === 0) return []
  const { items } = await cluster.sendOnce<BulkResponse>(bulkOf(indices, sent, { require_alias: true }))
  return holdersOf(items, indices)
}

/**
 * Copies the heartbeat of the serving index to every shard of the next one, and returns it, or 0 if there is none. The next index must
 * contain everything that the serving index contains.
 */
export async function copyHeartbeat(cluster: Cluster, serving: AliasedIndex | undefined, next: AliasedIndex): Promise<number> {
  const [sent = 0] = await readHeartbeats(cluster, [serving])
  if (sent === 0) return 0
  const { items } = await cluster.send<BulkResponse>(bulkOf([next], sent, {}))
  if (holdersOf(items, [next]).includes(false)) throw new OpenSearchError(503, 'the heartbeat is not in every shard of the next index')
  return sent
}

/** Throws unless searches reach every shard of the index, and find this heartbeat or a later one in each. `sent`: 0 for none. */
export async function checkShards(cluster: Cluster, { index, shards }: AliasedIndex, sent: number): Promise<void> {
  const body = { size: 0, track_total_hits: false, aggs: heartbeatAggregation(1) }
  const { aggregations, _shards } = await cluster.send<SearchResponse<HeartbeatAggregations>>({
    ...{ method: 'POST', path: `/${index}/_search`, querystring: STRICT, body },
  })
  // guard: swap-reaches-all-shards
  if (_shards.successful !== shards || (sent > 0 && (oldestHeartbeat(aggregations, 1, shards) ?? 0) < sent))
    throw new OpenSearchError(503, SHARDS_FAILED)
}

function bulkOf(indices: readonly AliasedIndex[], sent: number, more: object): ClusterRequest {
  const body = JSON.stringify({ lastUpdated: sent })
  const lines = indices.flatMap(({ alias, shards }) =>
    shardRoutings(shards).map((routing) => {
      const index = { _index: alias, _id: ID, ...withRouting(routing), version: sent, version_type: 'external', ...more }
      return `${JSON.stringify({ index })}\n${body}\n`
    }),
  )
  return { method: 'POST', path: '/_bulk', querystring: { timeout: BULK_TIMEOUT }, lines: lines.join('') }
}

type BulkItem = { readonly index?: { readonly _index?: string; readonly status?: number } }
type BulkResponse = { readonly items: readonly BulkItem[] }

/** Returns for each index whether each of its shards has the heartbeat. The alias may select another index by now, with other shards. */
function holdersOf(items: readonly BulkItem[], indices: readonly AliasedIndex[]): readonly boolean[] {
  const left = [...items]
  return indices.map(({ index, shards }) => {
    const own = left.splice(0, shards)
    return own.length === shards && own.every((each) => each.index?._index === index && HAS_IT.has(each.index.status ?? 0))
  })
}

/** Status codes by which a shard has the heartbeat. 409: it has this or a later one. */
const HAS_IT = new Set([200, 201, 409])
