/** Load of the OpenSearch domain: documents, shards and disks. Processors of the nodes are not modelled. */
import {
  DEFAULT_REPLICAS,
  DOMAIN_SIZES,
  type DomainShape,
  type DomainSize,
  type DomainSizeName,
  MAX_SEARCH_SHARDS,
  SHARD_GIGABYTES,
} from '../settings/domain-sizes.ts'
import { DEMO_REQUESTS } from './assumptions.ts'
import { type DocumentSizes, documentSizesOf } from './document-sizes.ts'
import { type Load, meanOf } from './load.ts'

const GIGABYTE = 1e9

/** After an upgrade each index exists twice, until the previous one is removed. */
const INDICES = 2
/** Part of a disk that may be full. */
const USABLE = 0.75

/**
 * Maximum data nodes that the model proposes. AWS raises the quota of an account (quotas.ts) to at least this number.
 * https://docs.aws.amazon.com/opensearch-service/latest/developerguide/limits.html
 */
export const MAX_NODES = 400

export type SearchLoad = {
  /** Size that the model proposes: a name, or nodes that no name has. */
  readonly size: DomainSize
  readonly name: DomainSizeName | 'custom'
  /** Data nodes and gigabytes of each. */
  readonly nodes: number
  readonly disk: number
  readonly shape: DomainShape
  /** Gigabytes of disks that the documents need after merges, and those of the size. */
  readonly needed: number
  readonly available: number
  /** Gigabytes of disks that the documents need before merges. */
  readonly unmerged: number
  /** Shards of the index of each type. */
  readonly shards: Readonly<Record<string, number>>
  /** Gigabytes of the largest shard after merges, and its type. */
  readonly shard: { readonly type: string; readonly gigabytes: number }
}

export function searchLoadOf({ resources, writes, searches, mix }: Load): SearchLoad {
  const neededBy = ({ count }: Pick<DomainShape, 'count'>, when: keyof DocumentSizes = 'merged'): number =>
    (resources * meanOf(mix, (type) => documentSizesOf(type)[when]) * copiesOf(count) * INDICES) / USABLE / GIGABYTE
  const isSmall = writes + searches <= DEMO_REQUESTS
  const names = isSmall ? NAMES : NAMES.filter((name) => name !== 'demo')
  const name = names.find((each) => neededBy(DOMAIN_SIZES[each]) <= diskOf(DOMAIN_SIZES[each]))
  const shape = name === undefined ? customShape(neededBy(CUSTOM)) : DOMAIN_SIZES[name]
  const all = Object.entries(mix.types).map(([type, share]) => {
    const gigabytes = (resources * share * documentSizesOf(type).merged) / GIGABYTE
    const count = Math.min(MAX_SEARCH_SHARDS, Math.max(1, Math.ceil(gigabytes / SHARD_GIGABYTES)))
    return { type, count, gigabytes: gigabytes / count }
  })
  const { type, gigabytes } = all.reduce((a, b) => (b.gigabytes > a.gigabytes ? b : a))
  return {
    ...{ size: name ?? shape, name: name ?? 'custom', shape, nodes: shape.count, disk: shape.disk },
    ...{ needed: neededBy(shape), available: diskOf(shape), unmerged: neededBy(shape, 'unmerged') },
    ...{ shards: Object.fromEntries(all.map((each) => [each.type, each.count])), shard: { type, gigabytes } },
  }
}

const NAMES = Object.keys(DOMAIN_SIZES) as readonly DomainSizeName[]

/** A domain with several nodes has the default number of replicas. */
const copiesOf = (nodes: number): number => 1 + Math.min(DEFAULT_REPLICAS, nodes - 1)

const diskOf = ({ count, disk }: DomainShape): number => count * disk

const CUSTOM: DomainShape = { ...DOMAIN_SIZES.large, disk: 1_000 }
/** Data nodes above which masters need more memory. */
const FEW_NODES = 30
const LARGE_MASTER = 'r7g.xlarge.search'

/** Returns nodes like those of the size `large`, as many as hold this number of gigabytes, at most MAX_NODES. */
function customShape(needed: number): DomainShape {
  const { zones } = CUSTOM
  const maxNodes = Math.floor(MAX_NODES / zones) * zones
  const count = Math.min(maxNodes, Math.ceil(needed / CUSTOM.disk / zones) * zones)
  const masters = CUSTOM.masters!
  return { ...CUSTOM, count, masters: count > FEW_NODES ? { ...masters, instanceType: LARGE_MASTER } : masters }
}
