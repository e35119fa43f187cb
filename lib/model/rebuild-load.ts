/** Rebuild of all documents, as after an upgrade with another document format. */
import { SEGMENTS } from '../../lambdas/indexing/rebuild/rebuild-steps.ts'
import { REBUILD_WIDTH, rebuildParallelism, rebuildWorkflow } from '../../lambdas/indexing/rebuild/workflow.ts'
import { REBUILD_STEP_MS } from '../../lambdas/runtime/step-times.ts'
import { DEFAULT_SETTINGS } from '../settings/settings.ts'
import { DOCUMENTS_PER_SECOND } from './assumptions.ts'
import { SCAN_UNITS } from './export-load.ts'
import type { Load } from './load.ts'
import { PRICES } from './prices.ts'
import type { SearchLoad } from './search-load.ts'
import { type WorkflowUse, workflowUseOf } from './workflow-events.ts'

const MILLION = 1e6
const HOUR = 3_600
/** A rebuild should take no longer. */
const DAY_HOURS = 24
const WIDTHS = [REBUILD_WIDTH, 4, 8, 16]

export type RebuildLoad = WorkflowUse & { readonly width: number; readonly hours: number; readonly dollars: number }

/** Raises the width of a rebuild that would take more than a day. The domain `demo` accepts no more documents than the default writes. */
export function rebuildLoadOf(load: Load, size: SearchLoad['name']): RebuildLoad {
  const fast = WIDTHS.find((each) => hoursOf(load, each) <= DAY_HOURS)
  const width = size === 'demo' ? REBUILD_WIDTH : (fast ?? WIDTHS.at(-1)!)
  const counts = countsOf(load)
  const steps = counts.reduce((sum, each) => sum + SEGMENTS * Math.max(1, Math.ceil(each / SEGMENTS / DOCUMENTS_OF_STEP)), 0)
  const [types, segments] = [counts.length, SEGMENTS * counts.length]
  const use = workflowUseOf(
    rebuildWorkflow('step', width),
    {
      ...{ Take: 2, Anything: 2, UntilAllKnow: 1, EachType: 1, Done: 1 },
      ...{ Open: types, Empty: types, UntilAllFollow: types, EachSegment: types, Swap: types },
      ...{ Fill: steps, More: steps, Filled: segments },
    },
    types + segments,
  )
  return { ...use, width, hours: hoursOf(load, width), dollars: dollarsOf(load.resources, use) }
}

const DOCUMENTS_OF_STEP = (DOCUMENTS_PER_SECOND * REBUILD_STEP_MS) / 1_000

/** Returns the resources of each type. */
const countsOf = ({ resources, mix }: Load): readonly number[] => Object.values(mix.types).map((share) => share * resources)

/** Returns the hours until the last of the types is complete. The largest begins first. */
function hoursOf(load: Load, width: number): number {
  const { types, segments } = rebuildParallelism(width)
  const lanes = Array<number>(types).fill(0)
  for (const count of countsOf(load).toSorted((a, b) => b - a)) {
    const first = lanes.indexOf(Math.min(...lanes))
    lanes[first]! += count / (DOCUMENTS_PER_SECOND * Math.min(segments, SEGMENTS))
  }
  return Math.max(...lanes) / HOUR
}

function dollarsOf(resources: number, { transitions }: WorkflowUse): number {
  const gigabytes = DEFAULT_SETTINGS.memory.worker / 1_024
  return (
    (resources * SCAN_UNITS.reads * PRICES.readUnit + transitions * PRICES.transition) / MILLION +
    (resources / DOCUMENTS_PER_SECOND) * gigabytes * PRICES.computing
  )
}
