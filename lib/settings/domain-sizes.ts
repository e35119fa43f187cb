/** Sizes of the search domain: nodes, disks and zones. */

/** `instanceType`: of each node. `count`: number of nodes. */
export type DomainNodes = { readonly instanceType: string; readonly count: number }

/**
 * `disk`: gigabytes of each data node. `zones`: availability zones, over which the nodes are spread evenly. `masters`: nodes that only
 * manage the cluster; if absent, data nodes do so.
 */
export type DomainShape = DomainNodes & { readonly disk: number; readonly zones: number; readonly masters?: DomainNodes }

export type DomainSizeName = 'demo' | 'production' | 'large'

/** Size by its name, or the nodes themselves. */
export type DomainSize = DomainSizeName | DomainShape

export const DOMAIN_SIZES: Readonly<Record<DomainSizeName, DomainShape>> = {
  demo: { instanceType: 't3.small.search', count: 1, disk: 20, zones: 1 },
  production: { instanceType: 'r7g.large.search', count: 3, disk: 200, zones: 3 },
  large: {
    ...{ instanceType: 'r7g.2xlarge.search', count: 6, disk: 600, zones: 3 },
    masters: { instanceType: 'r7g.large.search', count: 3 },
  },
}

export const shapeOf = (size: DomainSize): DomainShape => (typeof size === 'string' ? DOMAIN_SIZES[size] : size)

/** Returns the nodes of the stage's domain, and the gigabytes of each data node. All are 0 if the stage uses another cluster. */
export function nodesOf(search: { readonly size?: DomainSize; readonly endpoint?: string }): {
  readonly nodes: number
  readonly masters: number
  readonly disk: number
} {
  if (search.size === undefined) return { nodes: 0, masters: 0, disk: 0 }
  const { count, disk, masters } = shapeOf(search.size)
  return { nodes: count, masters: masters?.count ?? 0, disk }
}

/** Shards of the index of each type, and copies of each of them. */
export type IndexCopies = {
  /** Number of shards by resource type, each for 30 GB. Other types have one. An index gets its shards when it is built. */
  readonly shards?: Readonly<Record<string, number>>
  /** Copies of each shard beside the primary, if there are nodes for them. Default: 1. An index gets them when it is built. */
  readonly replicas?: number
}

/** Maximum gigabytes of a shard. Above it, a type needs more shards. AWS advises 10 to 30 GB, so that searches stay fast. */
export const SHARD_GIGABYTES = 30

/** Maximum shards of an index. Each search asks all shards of its types, and each heartbeat writes a document to each shard. */
export const MAX_SEARCH_SHARDS = 100
export const MAX_REPLICAS = 5
export const DEFAULT_REPLICAS = 1
