/**
 * The pulse in an index: a document that no search finds, for it is of no tenant, and whose version is when it was sent. A search reads it
 * from the very state of the index that it searches. https://docs.opensearch.org/latest/aggregations/bucket/global/
 */
import { type Cluster, type ClusterRequest, OpenSearchError } from './cluster.ts'

/** No document of a resource is called so: theirs have a separator. */
const ID = 'pulse'

/** Beside a search. */
export const HEARTBEAT_AGGREGATION = {
  pulse: { global: {}, aggs: { of: { filter: { ids: { values: [ID] } }, aggs: { sent: { min: { field: 'lastUpdated' } } } } } },
}

export type HeartbeatAggregations = {
  readonly pulse?: { readonly of: { readonly doc_count: number; readonly sent: { readonly value: number | null } } }
}

/** The oldest of `count` indices. undefined: one of them has none. */
export function oldestHeartbeat(answer: HeartbeatAggregations | undefined, count: number): number | undefined {
  const { doc_count = 0, sent } = answer?.pulse?.of ?? {}
  return doc_count < count ? undefined : (sent?.value ?? undefined)
}

type Found = { readonly docs: readonly { readonly _version?: number; readonly error?: unknown }[] }

/** In the order of the indices, named by their aliases: what each has, refreshed or not; 0 for none, undefined where the index is not there. */
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
 * Whether each index has it now, or a later one. It is tried once: one that was read before, and is set back meanwhile, must not get it as if
 * it had all that came before.
 */
export async function writeHeartbeat(cluster: Cluster, aliases: readonly string[], sent: number): Promise<readonly boolean[]> {
  if (aliases.length === 0) return []
  const { items } = await cluster.sendOnce<Written>(bulkOf(aliases, sent, { require_alias: true }))
  return aliases.map((_, i) => HAS_IT.has(items[i]?.index?.status ?? 0))
}

/** The index that takes over has all that the other has. */
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

/** A later one is a conflict. */
const HAS_IT = new Set([200, 201, 409])
