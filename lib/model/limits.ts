/** Limits of AWS and of this code, with the part that a load uses. */
import { AUDIT_PARTITIONS } from '../../lambdas/adapters/dynamodb/rows/audit-log.ts'
import { MAX_ROW_BYTES } from '../../lambdas/ports/rows/row-limits.ts'
import { MAX_STREAM_PARTITIONS } from '../../lambdas/ports/search/heartbeat.ts'
import { EXECUTION_DAYS } from '../../lambdas/runtime/step-times.ts'
import { SHARD_GIGABYTES } from '../settings/domain-sizes.ts'
import { executionsWithRequestsOf } from './concurrency.ts'
import { exportReadsOf } from './export-load.ts'
import { requestsOf } from './load.ts'
import { quotaUsesOf } from './quotas.ts'
import type { StageParts } from './stage-parts.ts'
import { KEY_UNITS, keyUnitsOf } from './table-load.ts'
import { MAX_EVENTS } from './workflow-events.ts'

/**
 * A limit. `isRaised`: AWS raises it on request. `fits`: the load uses no more than the limit, so a raised limit of an account is not
 * counted.
 */
export type Limit = {
  readonly what: string
  readonly used: number
  readonly limit: number
  readonly isRaised: boolean
  readonly fits: boolean
}

const HOURS = 24
const fixed = (what: string, used: number, limit: number): Limit => ({ what, used, limit, isRaised: false, fits: used <= limit })

export const limitsOf = (parts: StageParts): readonly Limit[] => [
  ...tableLimits(parts),
  ...searchLimits(parts),
  ...workflowLimits(parts),
  ...quotaLimits(parts),
]

const quotaLimits = ({ load, units, warm, concurrency, signatures, exported, search: { nodes } }: StageParts): readonly Limit[] =>
  quotaUsesOf({
    ...{ warm, requests: requestsOf(load), executions: executionsWithRequestsOf(concurrency), signatures, nodes },
    exportReads: exportReadsOf(units.table, exported.writers),
  }).map(({ what, used, quota: { value } }) => ({ ...fixed(what, used, value), isRaised: true }))

function tableLimits({ load, shards, streamShards, parallelizationFactor }: StageParts): readonly Limit[] {
  const { writes, mix } = load
  const keys = Object.entries(mix.types).map(([type, share]) => ({ type, units: keyUnitsOf(writes * share, mix, shards[type]!) }))
  const hot = keys.reduce((a, b) => (b.units > a.units ? b : a))
  return [
    fixed(`write units of an index key of ${hot.type}, ${shards[hot.type]} partitions`, hot.units, KEY_UNITS),
    fixed(`write units of a key of audit records, ${AUDIT_PARTITIONS} partitions`, requestsOf(load) / AUDIT_PARTITIONS, KEY_UNITS),
    fixed('partitions of the stream that heartbeats reach', streamShards * parallelizationFactor, MAX_STREAM_PARTITIONS),
  ]
}

const searchLimits = ({ search: { shards, shard, needed, available } }: StageParts): readonly Limit[] => [
  fixed(`GB of a shard of the OpenSearch index of ${shard.type}, one of ${shards[shard.type]}`, shard.gigabytes, SHARD_GIGABYTES),
  fixed('GB of disks of the search domain', needed, available),
]

const workflowLimits = ({ exported }: StageParts): readonly Limit[] => [
  fixed('events of the execution of an export', exported.events, MAX_EVENTS),
  fixed('hours of the execution of an export', exported.hours, EXECUTION_DAYS.export * HOURS),
  fixed('bytes of a row of an export writer', exported.rowBytes, MAX_ROW_BYTES),
]
