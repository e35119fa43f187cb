/** Sizes of the shards of the indices. https://docs.opensearch.org/latest/api-reference/index-apis/stats/ */
import type { Cluster } from './cluster.ts'

type Copy = { readonly store: { readonly size_in_bytes: number } }
type Sizes = { readonly indices?: Readonly<Record<string, { readonly shards: Readonly<Record<string, readonly Copy[]>> }>> }

/** Returns the largest shard of the indices with this prefix, or undefined if there is none. `index`: name of its index. */
export async function findLargestShard(
  cluster: Cluster,
  prefix: string,
): Promise<{ readonly index: string; readonly bytes: number } | undefined> {
  const querystring = { level: 'shards', filter_path: 'indices.*.shards.*.store.size_in_bytes' }
  const { indices = {} } = await cluster.send<Sizes>({ method: 'GET', path: `/${prefix}-*/_stats/store`, querystring })
  const sizes = Object.entries(indices).map(([index, { shards }]) => ({
    index,
    bytes: Math.max(...Object.values(shards).flatMap((copies) => copies.map(({ store }) => store.size_in_bytes))),
  }))
  return sizes.toSorted((a, b) => b.bytes - a.bytes)[0]
}
