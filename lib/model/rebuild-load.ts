/** Rebuild of all documents, as after an upgrade with another document format. */
import { MAX_SEGMENTS, SEGMENT_SIZE } from '../../lambdas/indexing/rebuild/type-rebuild.ts'
import { MAX_STEPS, MAX_TYPES, REBUILD_WIDTH, rebuildWorkflow } from '../../lambdas/indexing/rebuild/workflow.ts'
import type { IndexShards } from '../../lambdas/runtime/index-shards.ts'
import { REBUILD_STEP_MS } from '../../lambdas/runtime/step-times.ts'
import { DEFAULT_SETTINGS } from '../settings/settings.ts'
import { DOCUMENTS_PER_SECOND } from './assumptions.ts'
import { countMsOf } from './count-load.ts'
import { SCAN_UNITS } from './export-load.ts'
import type { Load } from './load.ts'
import { PRICES } from './prices.ts'
import type { SearchLoad } from './search-load.ts'
import { identifiersIn } from './table-load.ts'
import { type WorkflowUse, workflowUseOf } from './workflow-events.ts'

const MILLION = 1e6
const HOUR = 3_600
/** A rebuild should take no longer. */
const DAY_HOURS = 24
const WIDTHS = [REBUILD_WIDTH, 4, 8, 16, 32]
/** Calls of `next` that take and plan the rebuilds, and that find none left. */
const CALLS = 3
/**
 * `transitions`: of all executions. `events`: of the largest of the `executions`. `planMinutes`: until the plans of all types are made, in as
 * many steps as that takes.
 */
export type RebuildLoad = WorkflowUse & {
  readonly width: number
  readonly hours: number
  readonly dollars: number
  readonly executions: number
  readonly planMinutes: number
}

/** Raises the width of a rebuild that would take more than a day. The domain `demo` accepts no more documents than the default writes. */
export function rebuildLoadOf(load: Load, shards: IndexShards, size: SearchLoad['name']): RebuildLoad {
  const fast = WIDTHS.find((each) => hoursOf(load, each) <= DAY_HOURS)
  const width = size === 'demo' ? REBUILD_WIDTH : (fast ?? WIDTHS.at(-1)!)
  const counts = countsOf(load).toSorted(([, a], [, b]) => b - a)
  const groups = Array.from({ length: Math.ceil(counts.length / MAX_TYPES) }, (_, i) => counts.slice(i * MAX_TYPES, (i + 1) * MAX_TYPES))
  const lanes = groups.map((group) => Math.min(width, sumOf(group, segmentsOf)))
  const all = lanes.reduce((sum, each) => sum + each, 0)
  const fills = sumOf(counts, stepsOf) + all
  // Each type is opened and switched. Each group waits for the functions, and is filled.
  const planMinutes = sumOf(counts, (count, type) => countMsOf(type, count, SEGMENT_SIZE, shards[type]!)) / 60_000
  const nexts = CALLS + 2 * counts.length + 2 * groups.length + Math.floor((planMinutes * 60_000) / REBUILD_STEP_MS)
  const executions = Math.ceil((fills + nexts) / MAX_STEPS)
  const use = (steps: number): WorkflowUse =>
    workflowUseOf(
      rebuildWorkflow('step', width),
      {
        ...{ Step: nexts, Follows: nexts, Pause: 1 + groups.length, EachLane: groups.length, Done: 1 },
        ...{ Fill: steps, More: steps, Filled: all },
      },
      all,
    )
  const { transitions } = use(fills)
  // When the maximum is reached, each lane completes the step that it is in, and makes one more, which finds this.
  const { events } = use(Math.min(fills, MAX_STEPS + 2 * width))
  const hours = planMinutes / 60 + hoursOf(load, width)
  return { events, transitions, width, hours, dollars: dollarsOf(load, { transitions }), executions, planMinutes }
}

const DOCUMENTS_OF_STEP = (DOCUMENTS_PER_SECOND * REBUILD_STEP_MS) / 1_000

/** Returns the resources of each type. */
const countsOf = ({ resources, mix }: Load): readonly (readonly [type: string, count: number])[] =>
  Object.entries(mix.types).map(([type, share]) => [type, share * resources])

const segmentsOf = (count: number): number => Math.min(MAX_SEGMENTS, Math.max(1, Math.ceil(count / SEGMENT_SIZE)))

/** Returns the steps that fill the segments of a type. */
const stepsOf = (count: number): number => segmentsOf(count) * Math.max(1, Math.ceil(count / segmentsOf(count) / DOCUMENTS_OF_STEP))

const sumOf = (counts: readonly (readonly [type: string, count: number])[], of: (count: number, type: string) => number): number =>
  counts.reduce((sum, [type, count]) => sum + of(count, type), 0)

/** Returns the hours until all segments are complete. Segments of several types are filled together, each by one function. */
function hoursOf(load: Load, width: number): number {
  const largest = Math.max(...countsOf(load).map(([, count]) => Math.min(count, SEGMENT_SIZE)))
  return Math.max(load.resources / width, largest) / DOCUMENTS_PER_SECOND / HOUR
}

/** A rebuild also writes the rows of all identifiers again. */
function dollarsOf(load: Load, { transitions }: Pick<WorkflowUse, 'transitions'>): number {
  const { resources } = load
  const gigabytes = DEFAULT_SETTINGS.memory.worker / 1_024
  const units = resources * (SCAN_UNITS.reads * PRICES.readUnit + identifiersIn(load) * PRICES.writeUnit)
  return (units + transitions * PRICES.transition) / MILLION + (resources / DOCUMENTS_PER_SECOND) * gigabytes * PRICES.computing
}
