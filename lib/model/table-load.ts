/**
 * Load of the DynamoDB tables: units per second, partitions and bytes. Units are those that lambdas/adapters/dynamodb sends:
 * test/adapters/dynamodb/cost.test.ts counts them, and test/model/sample.test.ts compares this model with the store.
 */
import { heartbeatItem } from '../../lambdas/adapters/dynamodb/stream/heartbeat.ts'
import { beatCountOf, beatsOf } from '../../lambdas/indexing/stream/heartbeat.ts'
import { BEATS_AT_ONCE } from '../../lambdas/ports/search/heartbeat.ts'
import type { IndexShards } from '../../lambdas/runtime/index-shards.ts'
import { DEFAULT_SHARDS, MAX_SHARDS } from '../settings/index-shards.ts'
import { type CapacityUnits, NEW_TABLE, type TableCapacity } from '../settings/table-capacity.ts'
import { type Load, type Mix, meanOf, requestsOf } from './load.ts'
import { AUDIT_WRITES, REQUEST_WORK } from './request-work.ts'
import { sizesOf } from './sample-sizes.ts'

/** Units per second of each table. */
export type TableUnits = { readonly table: CapacityUnits; readonly index: CapacityUnits; readonly state: CapacityUnits }

const GIGABYTE = 1e9
const MINUTE = 60

/** Partitions of a new table. */
const NEW_PARTITIONS = 4

/**
 * Returns the beats of a heartbeat, one a minute, and those of them that the index of the table holds. `arrivals`: batches of the stream with
 * beats. Beats that are written at once share those of their partitions. Lambda may also join later ones.
 */
function beatCountsOf(partitions: number): { readonly beats: number; readonly indexed: number; readonly arrivals: number } {
  const beats = beatsOf(0, beatCountOf(partitions))
  const times = Math.ceil(beats.length / BEATS_AT_ONCE)
  return {
    beats: beats.length,
    indexed: beats.filter((beat) => heartbeatItem(beat).gpk !== undefined).length,
    arrivals: partitions * times * (1 - (1 - 1 / times) ** (beats.length / partitions)),
  }
}

/** Units of a batch with beats in the state table: a row that is added and removed; the state, twice, and the row. */
const ARRIVAL_UNITS: CapacityUnits = { writes: 2, reads: 3 }

/** Bytes of an identifier row. test/model/sample.test.ts measures them again and compares. */
export const IDENTIFIER_BYTES = 281

export const identifiersIn = ({ mix }: Load): number => meanOf(mix, (type) => mix.identifiers[type] ?? sizesOf(type).identifiers)

/**
 * A create puts the head. An update reads the head, puts its copy and the new head; the index moves the entry of the head and gets one for
 * the copy. A read, and each match of a search, reads one item. A create also puts a row for each identifier, and updates keep the
 * identifiers. Each request writes an audit record. Reads of the state table are cached in each function and not counted. `partitions`: those
 * of the stream.
 */
export function unitsOf(load: Load, partitions = NEW_PARTITIONS): TableUnits {
  const { beats, indexed, arrivals } = beatCountsOf(partitions)
  const { writes, reads, searches, mix } = load
  const updates = 1 - mix.creates
  return {
    table: {
      writes:
        writes * (mix.creates + 2 * updates) * meanOf(mix, (type) => sizesOf(type).units) +
        writes * mix.creates * identifiersIn(load) +
        beats / MINUTE,
      reads: writes * updates + reads * REQUEST_WORK.read.reads + searches * REQUEST_WORK.search.reads,
    },
    index: { writes: writes * (mix.creates + 3 * updates) + indexed / MINUTE, reads: indexed / MINUTE },
    state: {
      writes: requestsOf(load) * AUDIT_WRITES + (arrivals * ARRIVAL_UNITS.writes) / MINUTE,
      reads: (arrivals * ARRIVAL_UNITS.reads) / MINUTE,
    },
  }
}

/** Maximum units per second of a key of the index that the model proposes. DynamoDB accepts 1,000. */
export const KEY_UNITS = 700
/** Ids are spread at random, so a key gets more than the mean in some seconds: this many standard deviations. */
const DEVIATIONS = 4

/**
 * Returns the write units of the busiest key of current versions in a second. A create takes one, an update two: an entry removed and one
 * put. A resource that is created and updated within a second takes three.
 */
export function keyUnitsOf(writes: number, { creates }: Mix, shards: number): number {
  const updates = 1 - creates
  const mean = (writes * (creates + 2 * updates)) / shards
  const variance = (writes * (creates + 8 * updates)) / shards
  return mean + DEVIATIONS * Math.sqrt(variance)
}

/** Returns the index partitions of each type of the mix, so that no key gets more than KEY_UNITS, or MAX_SHARDS where that is impossible. */
export function shardsOf({ writes, mix }: Load): IndexShards {
  return Object.fromEntries(
    Object.entries(mix.types).map(([type, share]) => {
      let shards = DEFAULT_SHARDS[type] ?? 1
      while (shards < MAX_SHARDS && keyUnitsOf(writes * share, mix, shards) > KEY_UNITS) shards++
      return [type, shards]
    }),
  )
}

/** Free part of the warm capacity, so that a burst is not throttled. */
const HEADROOM = 1.25
/** Warm values are rounded up to this number of units. */
const STEP = 100

const warm = ({ reads, writes }: CapacityUnits): CapacityUnits => ({
  reads: warmUnits('reads', reads),
  writes: warmUnits('writes', writes),
})
const warmUnits = (kind: keyof CapacityUnits, units: number): number =>
  Math.max(NEW_TABLE[kind], Math.ceil((units * HEADROOM) / STEP) * STEP)

export type WarmUnits = Required<NonNullable<TableCapacity['warm']>>

/** Returns the warm capacity of the tables, never below that of a new table. */
export const warmOf = ({ table, index, state }: TableUnits): WarmUnits => ({
  ...warm(table),
  index: warm(index),
  state: warm(state),
})

/** Bytes of the stored versions and identifier rows, in gigabytes. */
export type StoredGigabytes = { readonly json: number; readonly table: number; readonly index: number }

export function storedOf(load: Load): StoredGigabytes {
  const { resources, mix } = load
  const all = (kind: 'json' | 'table' | 'index'): number =>
    (resources * mix.versions * meanOf(mix, (type) => sizesOf(type)[kind])) / GIGABYTE
  const rows = (resources * identifiersIn(load) * IDENTIFIER_BYTES) / GIGABYTE
  return { json: all('json'), table: all('table') + rows, index: all('index') }
}

/**
 * Maximum of a partition: write units, read units, gigabytes.
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html
 */
const PARTITION = { writes: 1_000, reads: 3_000, gigabytes: 10 } as const

/** Returns the number of partitions of a table. The stream has a shard for each of them. */
export const partitionsOf = ({ reads, writes }: CapacityUnits, gigabytes: number): number =>
  Math.max(Math.ceil(writes / PARTITION.writes), Math.ceil(reads / PARTITION.reads), Math.ceil(gigabytes / PARTITION.gigabytes))
