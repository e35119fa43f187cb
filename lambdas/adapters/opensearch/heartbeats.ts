/**
 * Heartbeat of an index: a document whose version is the instant at which the heartbeat was sent. It belongs to no tenant, so no search
 * finds it. A search reads it by an aggregation, from the same state of the index.
 * https://docs.opensearch.org/latest/aggregations/bucket/global/
 */
import { type Cluster, type ClusterRequest, OpenSearchError } from './cluster.ts'

/** Id of the heartbeat. Ids of resources' documents contain `~`, so none equals it. */
const ID = 'pulse'

/** Aggregation by which a search also reads the heartbeat. */
export const HEARTBEAT_AGGREGATION = {
  pulse: { global: {}, aggs: { of: { filter: { ids: { values: [ID] } }, aggs: { sent: { min: { field: 'lastUpdated' } } } } } },
}

export type HeartbeatAggregations = {
  readonly pulse?: { readonly of: { readonly doc_count: number; readonly sent: { readonly value: number | null } } }
}

/** Returns the oldest heartbeat of the searched indices, or undefined if one has none. `count`: number of indices. */
export function oldestHeartbeat(answer: HeartbeatAggregations | undefined, count: number): number | undefined {
  const { doc_count = 0, sent } = answer?.pulse?.of ?? {}
  return doc_count < count ? undefined : (sent?.value ?? undefined)
}

type Found = { readonly docs: readonly { readonly _version?: number; readonly error?: unknown }[] }

/**
 * Returns the heartbeats of the indices in the order of their aliases, even if not yet visible to searches. 0: the index has none.
 * undefined: the index is missing.
 */
export async function readHeartbeats(cluster: Cluster, indices: readonly string[]): Promise<readonly (number | undefined)[]> {
  if (indices.length === 0) return []
  const docs = indices.map((_index) => ({ _index, _id: ID, _source: false }))
  const found = await cluster.send<Found>({ method: 'POST', path: '/_mget', body: { docs } })
  return indices.map((_, i) => {
    const { _version, error } = found.docs[i] ?? { error: 'not told' }
    return error === undefined ? (_version ?? 0) : undefined
  })
}

/**
 * Writes the heartbeat. Returns for each index whether it has this or a later one. It does not retry: an index that is restored before a
 * retry would get the heartbeat, although it lacks earlier versions.
 */
export async function writeHeartbeat(cluster: Cluster, aliases: readonly string[], sent: number): Promise<readonly boolean[]> {
  if (aliases.length === 0) return []
  const { items } = await cluster.sendOnce<Written>(bulkOf(aliases, sent, { require_alias: true }))
  return aliases.map((_, i) => HAS_IT.has(items[i]?.index?.status ?? 0))
}

/** Copies the heartbeat of the serving index to the next one. The next index must contain everything that the serving index contains. */
export async function copyHeartbeat(cluster: Cluster, live: string, next: string): Promise<void> {
  const [sent = 0] = await readHeartbeats(cluster, [live])
  if (sent === 0) return
  const { items } = await cluster.send<Written>(bulkOf([next], sent, {}))
  const { status } = items[0]?.index ?? {}
  if (!HAS_IT.has(status ?? 0)) throw new OpenSearchError(status ?? 503, 'the pulse is not carried over')
}

function bulkOf(indices: readonly string[], sent: number, more: object): ClusterRequest {
  const body = JSON.stringify({ lastUpdated: sent })
  const about = (_index: string) => ({ index: { _index, _id: ID, version: sent, version_type: 'external', ...more } })
  return { method: 'POST', path: '/_bulk', lines: indices.map((each) => `${JSON.stringify(about(each))}\n${body}\n`).join('') }
}

type Written = { readonly items: readonly { readonly index?: { readonly status?: number } }[] }

/** Status codes by which an index has the heartbeat. 409: it has this or a later one. */
const HAS_IT = new Set([200, 201, 409])
