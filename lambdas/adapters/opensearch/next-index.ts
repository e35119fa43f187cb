/** Settings of an index while a rebuild fills it, and its replicas afterwards. https://docs.opensearch.org/latest/tuning-your-cluster/ */
import type { Cluster } from './cluster.ts'
import { type AliasedIndex, checkShards, copyHeartbeat } from './heartbeats.ts'
import type { IndexSettings } from './index-definition.ts'
import { refreshIndex } from './visibility.ts'

/**
 * Settings of an index while a rebuild fills it. A replica would index each document again, and is copied as a whole later. Fewer refreshes
 * write fewer and larger segments.
 */
export const FILL_SETTINGS: IndexSettings = { auto_expand_replicas: false, number_of_replicas: 0, refresh_interval: '60s' }

/** Values that apply if the settings of the index do not name them. */
const DEFAULTS: IndexSettings = { auto_expand_replicas: false, number_of_replicas: 1, refresh_interval: '1s' }

export type IndexHealth = 'green' | 'yellow' | 'red'

/** Gives the full index its replicas and its refresh interval. Returns its health. May be repeated. */
export async function completeIndex(cluster: Cluster, index: string, settings: IndexSettings): Promise<IndexHealth> {
  const { number_of_replicas, ...others } = { ...DEFAULTS, ...pick(settings) }
  const body = others.auto_expand_replicas === false ? { ...others, number_of_replicas } : others
  await cluster.send({ method: 'PUT', path: `/${index}/_settings`, body })
  return readHealth(cluster, index)
}

/** Gives the full index the heartbeat of the serving one, and makes its documents visible. Throws if a shard has not answered. */
export async function showFullIndex(cluster: Cluster, serving: AliasedIndex | undefined, full: AliasedIndex): Promise<void> {
  const sent = await copyHeartbeat(cluster, serving, full)
  await refreshIndex(cluster, full.index)
  await checkShards(cluster, full, sent)
}

const pick = (settings: IndexSettings): IndexSettings =>
  Object.fromEntries(Object.entries(settings).filter(([name]) => Object.hasOwn(DEFAULTS, name)))

export async function readHealth(cluster: Cluster, index: string): Promise<IndexHealth> {
  const { status } = await cluster.send<{ readonly status: IndexHealth }>({ method: 'GET', path: `/_cluster/health/${index}` })
  return status
}
