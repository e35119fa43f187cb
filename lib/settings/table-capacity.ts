/** Capacity of the DynamoDB tables. */
import type { IndexShards } from '../../lambdas/runtime/index-shards.ts'

/**
 * Request units per second. `warm`: capacity of the resource table that is available at once. `index`, `state`: the same of its index and
 * of the state table. Their default for reads is the capacity of a new table. The index has the writes of the resource
 * table. The state table has its reads and writes together, because each request writes an audit record. `most`: maximum of
 * the resource table, above which DynamoDB throttles requests; it limits costs. `shards`: partitions of the index by type, each for 1,000
 * writes per second (see index-shards.ts).
 */
export type TableCapacity = {
  readonly warm?: CapacityUnits & { readonly index?: CapacityUnits; readonly state?: CapacityUnits }
  readonly most?: CapacityUnits
  readonly shards?: IndexShards
}

export type CapacityUnits = { readonly reads: number; readonly writes: number }

/** Capacity of a new table: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/warm-throughput.html */
export const NEW_TABLE: CapacityUnits = { reads: 12_000, writes: 4_000 }

type Warm = TableCapacity['warm']

/** Returns the warm capacity of the index. Each stored version is written to it. */
export const warmIndexOf = (warm: Warm): CapacityUnits | undefined =>
  warm && (warm.index ?? { reads: NEW_TABLE.reads, writes: warm.writes })

/** Returns the warm capacity of the state table. Each request writes an audit record to it. */
export const warmStateOf = (warm: Warm): CapacityUnits | undefined =>
  warm && (warm.state ?? { reads: NEW_TABLE.reads, writes: warm.reads + warm.writes })
