/** Load of the OpenSearch domain: documents, shards and disks. Processors of the nodes are not modelled. */
import { indexDefinition } from '../../lambdas/adapters/opensearch/index-definition.ts'
import { DOMAIN_SIZES, type DomainSize } from '../stacks/search-domain.ts'
import { DEMO_REQUESTS } from './assumptions.ts'
import { type Load, largestType } from './load.ts'

const GIGABYTE = 1e9

/** Bytes of a document in one copy of an index (`npm run bench -- disk`, see lib/docs/cost.md). */
export const DOCUMENT_BYTES = { merged: 413, unmerged: 1_427 } as const
/** Shards of the index of a type. */
const INDEX_SHARDS = indexDefinition({}).settings.number_of_shards
/** After an upgrade each index exists twice, until the previous one is removed. */
const INDICES = 2
/** Part of a disk that may be full. */
const USABLE = 0.75

/**
 * Gigabytes of one shard above which AWS advises more shards.
 * https://docs.aws.amazon.com/opensearch-service/latest/developerguide/bp-sharding.html
 */
export const SHARD_GIGABYTES = 50

export type SearchLoad = {
  readonly size: DomainSize
  /** Nodes and gigabytes of each that the documents need. The size of the domain may have fewer. */
  readonly nodes: number
  readonly disk: number
  /** Gigabytes of disks that the documents need after merges, and those that the size has. */
  readonly needed: number
  readonly available: number
  /** Gigabytes of disks that the documents need before merges. */
  readonly unmerged: number
  /** Gigabytes of the largest shard after merges, and its type. */
  readonly shard: { readonly type: string; readonly gigabytes: number }
}

export function searchLoadOf({ resources, writes, searches, mix }: Load): SearchLoad {
  const neededBy = (size: DomainSize, bytes: number): number => (resources * bytes * copiesOf(size) * INDICES) / USABLE / GIGABYTE
  const { disk: demoDisk } = disksOf('demo')
  const isSmall = neededBy('demo', DOCUMENT_BYTES.merged) <= demoDisk && writes + searches <= DEMO_REQUESTS
  const size = isSmall ? 'demo' : 'production'
  const { nodes, disk } = disksOf(size)
  const needed = neededBy(size, DOCUMENT_BYTES.merged)
  const type = largestType(mix)
  return {
    ...{ size, disk, needed, available: nodes * disk, unmerged: neededBy(size, DOCUMENT_BYTES.unmerged) },
    nodes: Math.max(nodes, Math.ceil(needed / disk)),
    shard: { type, gigabytes: (resources * mix.types[type]! * DOCUMENT_BYTES.merged) / GIGABYTE / INDEX_SHARDS },
  }
}

/** A domain with several nodes has a replica of each shard, the default of OpenSearch. */
const copiesOf = (size: DomainSize): number => (disksOf(size).nodes > 1 ? 2 : 1)

function disksOf(size: DomainSize): { readonly nodes: number; readonly disk: number } {
  const { capacity, ebs } = DOMAIN_SIZES[size]
  return { nodes: capacity!.dataNodes!, disk: ebs!.volumeSize! }
}
