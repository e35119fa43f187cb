/** Monthly costs of a deployment, computed from list prices (lib/model/prices.ts) and the work of each interaction. */
import { heartbeatItem } from '../../lambdas/adapters/dynamodb/stream/heartbeat.ts'
import { beatCountOf, beatsOf } from '../../lambdas/indexing/stream/heartbeat.ts'
import { BEATS_PER_PARTITION } from '../../lambdas/ports/search/heartbeat.ts'
import { METRIC_NAMES } from '../../lambdas/runtime/aws/log.ts'
import { DEFAULT_MIX } from '../../lib/model/load.ts'
import { FIREWALL_RULES, FREE, PRICES } from '../../lib/model/prices.ts'
import { AUDIT_KB, AUDIT_MONTHS, AUDIT_WRITES, LOG_KB, REQUEST_WORK, type Work } from '../../lib/model/request-work.ts'
import { unitsOf } from '../../lib/model/table-load.ts'
import { hasCount } from '../../lib/monitoring/watch.ts'
import { watchesOf } from '../../lib/monitoring/watches.ts'
import { OWN_BACKUP_DAYS } from '../../lib/settings/backup-settings.ts'
import { NEW_TABLE } from '../../lib/settings/table-capacity.ts'

/** Partitions of a table with the default capacity. */
const PARTS = 4
/** Records come in batches. */
const INDEXING = 0.05

const RESOURCE_NAMES = { stage: 'x', table: 'x', stateTable: 'x', index: 'x', rebuild: 'x', api: { name: 'x', stage: 'x', rate: 1 } }
const FOLLOWERS = { indexer: 'x', 'settle-transactions': 'x' }
const DEPLOYED = {
  ...{ ...RESOURCE_NAMES, followers: FOLLOWERS, mappings: FOLLOWERS, domain: { name: 'x', account: 'x', disk: 20, nodes: 1, masters: 0 } },
  exports: { machine: 'x', sweeper: 'x' },
}
const alarmMetricsOf = (deployed: Parameters<typeof watchesOf>[0]): number =>
  watchesOf(deployed)
    .flatMap(({ alarm, metrics }) => (alarm === undefined ? [] : metrics))
    .reduce((sum, { expression = '' }) => sum + (hasCount(expression) ? 2 : 1), 0)

/** Charged metrics of the alarms of a demo with signed requests, of one that issues tokens, and of one whose payer has partners. */
export const ALARM_METRICS = {
  iam: alarmMetricsOf(DEPLOYED),
  token: alarmMetricsOf({ ...DEPLOYED, tokens: { tender: 'x', hasPartners: false } }),
  partners: alarmMetricsOf({ ...DEPLOYED, tokens: { tender: 'x', hasPartners: true } }),
}

/** Monthly cost of issuing tokens: the signing key, the secret that CloudFront sends to the API, and alarms. */
export const TOKENS_MONTHLY_COST = PRICES.key + PRICES.secret + (ALARM_METRICS.token - ALARM_METRICS.iam) * PRICES.alarm

/** Monthly cost of the alarm MemberGuessing. */
export const PARTNERS_MONTHLY_COST = (ALARM_METRICS.partners - ALARM_METRICS.token) * PRICES.alarm

const WATCHING_COST =
  Math.max(0, ALARM_METRICS.iam - FREE.alarms) * PRICES.alarm + Math.max(0, METRIC_NAMES.length - FREE.metrics) * PRICES.metric

/** Monthly cost of a function that looks for packages every ten seconds. */
export const PACKAGES_MONTHLY_COST = ((30 * 24 * 3_600) / 10 / 1_000_000) * PRICES.objectRead

/**
 * The archive of audit records. `batch`: records of a batch, which becomes an object. `gigabytes`: of a million records. Both are measured by
 * stored-items.ts. `seconds`: assumed duration of a batch.
 */
export const ARCHIVE = { batch: 5_100, gigabytes: 0.1, seconds: 1 } as const

/** Cost of archiving the audit records of a million requests to one tenant. */
export const ARCHIVING_COST =
  (1_000_000 / ARCHIVE.batch) *
  ((PRICES.objectWrite + PRICES.invocation) / 1_000_000 + REQUEST_WORK.read.gigabytes * ARCHIVE.seconds * PRICES.computing)

/** Monthly cost of the archive of a million requests a month, after so many years. */
export const archivedCost = (years: number): number => years * 12 * ARCHIVE.gigabytes * PRICES.object

/** Monthly cost of an object every five minutes for each partition of the table: the most for a tenant whose batches are not full. */
export const ARCHIVED_OBJECTS_MONTHLY_COST = ((30 * 24 * 12 * PARTS) / 1_000_000) * PRICES.objectWrite

/** Monthly cost of the alarms of the function that archives. */
export const ARCHIVE_ALARMS_COST =
  (alarmMetricsOf({ ...DEPLOYED, archive: { archiver: 'x', mapping: 'x' } }) - ALARM_METRICS.iam) * PRICES.alarm

/** Beats that the index of the table contains. */
const BEATS = beatCountOf(PARTS)
const INDEXED = beatsOf(0, BEATS).filter((beat) => heartbeatItem(beat).gpk !== undefined).length

const MINUTES = 30 * 24 * 60
/** Changes of the state of the heartbeats: two when beats arrive, and one when the indices have the heartbeat. Each takes two units. */
const STATE_UNITS = 3 * 2
/** Units of the row that records the latest heartbeat and the latest writes: for each heartbeat, and for each minute with writes. */
const [SENT_UNITS, WRITTEN_UNITS] = [1, 2]
/** Units that each batch writes: a row with its beats, and its removal. */
const BATCH_UNITS = 2
/** Reads of a batch: the state before and after the row, and the row. Those of a heartbeat: its rows, several times, and the state. */
const [BATCH_READS, HEARTBEAT_READS] = [3, 10]
/** Reads of a sweep that sends no heartbeat: the rows with beats, the state, and the row of the latest writes. */
const SWEEP_READS = 4

/** Cost of a million heartbeats: their beats, those in the index, the state, and the calls. An idle table has a batch for each partition. */
const MILLION_HEARTBEATS_COST =
  (BEATS + INDEXED + STATE_UNITS + SENT_UNITS + PARTS * BATCH_UNITS) * PRICES.writeUnit +
  (INDEXED + PARTS * BATCH_READS + HEARTBEAT_READS) * PRICES.readUnit +
  PARTS * PRICES.invocation

/** Monthly cost of the beats for one more shard in a table with more than eight. The index has all of them. */
export const SHARD_MONTHLY_COST = (MINUTES * 2 * BEATS_PER_PARTITION * PRICES.writeUnit) / 1_000_000

/** Monthly cost of the rows with beats that arrived, in a table whose stream has 300 shards. */
export function arrivalsMonthlyCost(): number {
  const { reads, writes } = unitsOf({ resources: 0, writes: 0, reads: 0, searches: 0, mix: DEFAULT_MIX }, 300).state
  return (MINUTES * 60 * (reads * PRICES.readUnit + writes * PRICES.writeUnit)) / 1_000_000
}

/** Monthly cost of the heartbeats. `writes`: millions. There is one in each minute with writes, and else in every third minute. */
export function heartbeatCostOf(writes: number): number {
  const active = Math.min(MINUTES, writes * 1_000_000)
  const units = active * WRITTEN_UNITS * PRICES.writeUnit + MINUTES * SWEEP_READS * PRICES.readUnit
  return ((active + (MINUTES - active) / 3) * MILLION_HEARTBEATS_COST + units) / 1_000_000
}

/** Monthly cost of the backups of a gigabyte of the tables. Each of them is complete. `days`: retention of the copies. */
export const backupMonthlyCost = (days: number): number => (OWN_BACKUP_DAYS + days) * PRICES.backup

/**
 * Units that an update writes to the index for each unit of the table. The table gets a copy and a head. The index gets the copy, removes the
 * entry of the previous head and gets another one.
 */
const INDEX_WRITES = 3 / 2

/** Hourly cost of a demo that constantly uses the maximum capacity of its resource table, for updates. */
export const DEMO_MAX_HOURLY_COST =
  (3_600 / 1_000_000) * (NEW_TABLE.reads * PRICES.readUnit + (1 + INDEX_WRITES) * NEW_TABLE.writes * PRICES.writeUnit)

/** Objects of a response of S3 to a list. */
const LISTED = 1_000
/** Cost of a pass over a million large bodies, without its functions: each body is read, and the two items that may refer to it. */
export const BODY_PASS_COST = PRICES.objectRead + PRICES.objectWrite / LISTED + 2 * PRICES.readUnit

/** Cost of a million writes that wait until searches find them: a second of a function each. */
export const STRONG_WRITES_COST = REQUEST_WORK.create.gigabytes * 1_000_000 * PRICES.computing

/** Cost of a million requests, without transfer. */
export function costOfMillionRequests({ gigabytes, ms, writes, reads, indexed, signed }: Work): number {
  const gateway = PRICES.api + PRICES.invocation + PRICES.firewall
  const computing = gigabytes * ms * 1_000 * PRICES.computing
  const units = (writes + AUDIT_WRITES) * PRICES.writeUnit + reads * PRICES.readUnit
  return gateway + computing + units + LOG_KB * PRICES.log + (indexed === true ? INDEXING : 0) + (signed === true ? PRICES.signature : 0)
}

export type StageUse = {
  /** Millions in a month. */
  readonly requests: number
  /** Gigabytes of resources, as JSON. */
  readonly stored: number
  readonly size: 'demo' | 'production'
}

/** Seven reads of ten, two searches, the rest writes, two creates for each update. */
const SHARES = { read: 0.7, search: 0.2, create: 0.067, update: 0.033 } as const

/**
 * Gigabytes in the table, and in its index, for a gigabyte of JSON in resources like those of the sample. Gigabytes of a million audit
 * records, which are kept for three months. Measured by stored-items.ts.
 */
export const STORED = { table: 0.71, index: 0.2, audit: AUDIT_KB } as const

/** Returns the costs of a stage with the default `access`, which is `token`. */
export function costsOfMonth({ requests, stored, size }: StageUse): {
  readonly requests: number
  readonly data: number
  readonly search: number
  readonly fixed: number
} {
  const names = Object.keys(SHARES) as (keyof typeof SHARES)[]
  const perMillion = names.reduce((sum, name) => sum + SHARES[name] * costOfMillionRequests(REQUEST_WORK[name]), 0)
  const gigabytes = requests * names.reduce((sum, name) => sum + SHARES[name] * REQUEST_WORK[name].answer, 0)
  const front = Math.max(0, requests - FREE.requests) * PRICES.cloudFront + Math.max(0, gigabytes - FREE.gigabytes) * PRICES.transfer
  const inTables = stored * STORED.table + requests * STORED.audit * AUDIT_MONTHS
  const charged = Math.max(0, inTables + stored * STORED.index - FREE.stored)
  const search = size === 'demo' ? PRICES.smallNode + 20 * PRICES.disk : 3 * (PRICES.largeNode + 200 * PRICES.disk)
  return {
    requests: requests * perMillion + front,
    // The recovery of a table does not include its index, and has no free tier.
    data: charged * PRICES.table + inTables * PRICES.recovery,
    search,
    // One key encrypts, one signs links to export files.
    fixed:
      PRICES.firewallAlone +
      FIREWALL_RULES[size] * PRICES.firewallRule +
      2 * PRICES.key +
      WATCHING_COST +
      heartbeatCostOf(requests * (SHARES.create + SHARES.update)) +
      TOKENS_MONTHLY_COST,
  }
}
