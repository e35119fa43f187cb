/** Export of all resources of one tenant: its plan, its workflow, and the size of its files. */
import { CHECKPOINT_INTERVAL_MS } from '../../lambdas/export/job/checkpoint.ts'
import { MAX_SEGMENTS, packSegments, SMALLEST } from '../../lambdas/export/plan/segment-packing.ts'
import { exportWorkflow, MAX_WRITERS } from '../../lambdas/export/workflow.ts'
import { MAX_HELD_BYTES } from '../../lambdas/export/write/file-writer.ts'
import { MAX_FILE_BYTES, MAX_PARTS, MIN_PART_BYTES, PART_BYTES } from '../../lambdas/export/write/multipart-uploads.ts'
import type { IndexShards } from '../../lambdas/runtime/index-shards.ts'
import { EXPORT_STEP_MS } from '../../lambdas/runtime/step-times.ts'
import { DEFAULT_SETTINGS } from '../settings/settings.ts'
import type { CapacityUnits } from '../settings/table-capacity.ts'
import { EXPORTED_PER_SECOND } from './assumptions.ts'
import { countMsOf } from './count-load.ts'
import type { Load } from './load.ts'
import { PRICES } from './prices.ts'
import { sizesOf } from './sample-sizes.ts'
import type { SearchLoad } from './search-load.ts'
import { type WorkflowUse, workflowUseOf } from './workflow-events.ts'

/** Units of an exported resource, measured by `npm run test:cloud -- figures`. */
export const SCAN_UNITS = { reads: 1.05, writes: 0.0025 } as const
/** Requests to S3 of a segment besides the parts of its files: tails, rows of keys. */
const PUTS_OF_SEGMENT = 4
/** Days for which files stay, by default. */
const FILE_DAYS = 10
const MONTH_DAYS = 30
/** Exports that run at the same time, for the executions of Lambda. */
export const EXPORTS_AT_ONCE = 30
/** Executions that the model reserves for the steps of all exports. The exports of a demo use fewer without a reservation. */
const RESERVED_EXECUTIONS = 100
/** Attempts to plan while earlier writes settle. */
const PLANS = 15
const MILLION = 1e6
const HOUR = 3_600

export type ExportLoad = WorkflowUse & {
  readonly writers: number
  /** Executions of Lambda that 30 exports use together. */
  readonly executions: number
  readonly hours: number
  readonly dollars: number
  /** Minutes of function time until the plan is made, in as many steps as it takes. */
  readonly planMinutes: number
  /** Files of all types. */
  readonly files: number
  /** Bytes of the largest row of a writer: it lists the parts of a segment. */
  readonly rowBytes: number
}

/** Returns an export of everything with the default number of writers. */
export function exportLoadOf({ resources, mix }: Load, shards: IndexShards, size: SearchLoad['name']): ExportLoad {
  const writers = size === 'demo' ? DEFAULT_SETTINGS.exportWriters : MAX_WRITERS
  const counts = Object.entries(mix.types).map(([type, share]): readonly [string, number] => [type, Math.ceil(share * resources)])
  const segments = segmentsOf(counts)
  const steps = segments.reduce(
    (sum, entries) => sum + Math.max(1, Math.ceil(entries / ((EXPORTED_PER_SECOND * EXPORT_STEP_MS) / 1_000))),
    0,
  )
  const planMinutes = planMinutesOf(counts, shards)
  const plans = PLANS + Math.floor((planMinutes * 60_000) / EXPORT_STEP_MS)
  const use = workflowUseOf(
    exportWorkflow('step', writers),
    {
      ...{ Plan: plans, Planned: plans, UntilSettled: plans - 1, EachSegment: 1, Gather: 1, Gathered: 1, Finish: 1, Done: 1 },
      ...{ Write: steps, WriteMore: steps, WriteDone: segments.length },
    },
    segments.length,
  )
  const parts = counts.reduce((sum, [type, count]) => sum + (count * sizesOf(type).json) / partBytesOf(type), 0)
  const bytes = counts.reduce((sum, [each, count]) => sum + count * sizesOf(each).json, 0)
  return {
    ...{
      ...use,
      writers,
      executions: size === 'demo' ? EXPORTS_AT_ONCE * writers : RESERVED_EXECUTIONS,
      planMinutes,
      hours: planMinutes / 60 + resources / (writers * EXPORTED_PER_SECOND) / HOUR,
    },
    dollars: dollarsOf(resources, bytes, use, parts + PUTS_OF_SEGMENT * segments.length),
    files: counts.reduce((sum, [type, count]) => sum + Math.ceil((count * sizesOf(type).json) / MAX_FILE_BYTES), 0),
    rowBytes: Math.max(...counts.map(([type, count]) => rowBytesOf(type, Math.min(count, Math.max(...segments))))),
  }
}

/** Returns the read units of the resource table per second while this number of functions writes an export. `reads`: those of the requests. */
export const exportReadsOf = ({ reads }: Pick<CapacityUnits, 'reads'>, writers: number): number =>
  reads + writers * EXPORTED_PER_SECOND * SCAN_UNITS.reads

/** Returns the entries of each segment, packed as the plan of an export packs them. */
function segmentsOf(counts: readonly (readonly [type: string, count: number])[]): readonly number[] {
  const extents = counts.map(([type, entries]) => ({
    ...{ type, entries },
    ends: Array.from({ length: Math.max(1, Math.ceil(entries / SMALLEST)) }, (_, i) => i),
  }))
  return packSegments(extents, SMALLEST, MAX_SEGMENTS).map((pieces) => pieces.reduce((sum, { entries }) => sum + entries, 0))
}

/**
 * The plan counts the index entries of each type, type by type, in queries to its partitions. The parts that it counts grow with the entries
 * counted so far.
 */
function planMinutesOf(counts: readonly (readonly [type: string, count: number])[], shards: IndexShards): number {
  let [ms, counted] = [0, 0]
  for (const [type, count] of counts)
    for (let left = count; left > 0; ) {
      const every = Math.max(SMALLEST, counted / MAX_SEGMENTS)
      const some = Math.min(left, Math.max(every, count / 100))
      ms += countMsOf(type, some, every, shards[type]!)
      left -= some
      counted += some
    }
  return ms / 60_000
}

/**
 * Returns the mean bytes of a part. A writer cuts its lines into full parts. At each checkpoint, and when it holds too many bytes, it writes
 * the rest as a smaller part.
 */
function partBytesOf(type: string): number {
  const interval = Math.min(MAX_HELD_BYTES, (EXPORTED_PER_SECOND * sizesOf(type).json * CHECKPOINT_INTERVAL_MS) / 1_000)
  const full = Math.floor(interval / PART_BYTES)
  return interval - full * PART_BYTES >= MIN_PART_BYTES ? interval / (full + 1) : PART_BYTES
}

const BYTES_OF_PART = JSON.stringify({ n: MAX_PARTS, tag: `"${'0'.repeat(32)}"`, count: PART_BYTES, size: PART_BYTES }).length

const rowBytesOf = (type: string, entries: number): number => Math.ceil((entries * sizesOf(type).json) / partBytesOf(type)) * BYTES_OF_PART

function dollarsOf(resources: number, bytes: number, { transitions }: WorkflowUse, puts: number): number {
  const gigabytes = DEFAULT_SETTINGS.memory.worker / 1_024
  return (
    (resources * (SCAN_UNITS.reads * PRICES.readUnit + SCAN_UNITS.writes * PRICES.writeUnit)) / MILLION +
    (puts * PRICES.objectWrite + transitions * PRICES.transition) / MILLION +
    (resources / EXPORTED_PER_SECOND) * gigabytes * PRICES.computing +
    (bytes / 1e9) * PRICES.object * (FILE_DAYS / MONTH_DAYS)
  )
}
