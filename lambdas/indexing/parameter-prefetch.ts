/**
 * Evaluates costly custom parameters on many resources at once, before their documents are built. A parameter is costly if one of its
 * expressions may be slow or is interpreted, so that the evaluation budget limits it.
 */
import { parseJsonBytes } from '../fhir/json.ts'
import type { Resource } from '../fhir/resource.ts'
import type { ExpressionRunner } from '../ports/execution/expression-runner.ts'
import type { ResourceVersion } from '../ports/store/resource-store.ts'
import { evaluateAhead } from '../search/custom/batch-evaluation.ts'
import { usesEvaluationBudget } from '../search/custom-evaluation.ts'
import type { SearchContext, SearchContextOf } from '../search/search-context.ts'

export type PrefetchedResources = ReadonlyMap<ResourceVersion, Resource>

/**
 * Maximum tenants whose next versions are evaluated, or wait evaluated, before they are indexed. The change feed and the rebuilds have this
 * limit each. It bounds memory, because these versions are held in memory, and the calls that wait for the runner.
 */
export const MOST_AHEAD = 8

export const NO_PREFETCHED_RESOURCES: PrefetchedResources = new Map()

/** Whether the search context has a costly parameter. Its values must be evaluated before documents are built. */
export const isPrefetchNeeded = ({ custom = [] }: SearchContext): boolean => custom.some(usesEvaluationBudget)

/**
 * Evaluates the costly parameters on the versions. Returns the parsed resources of types that have such parameters. The values are bound to
 * these objects, so the extraction must use them. Leaves out deletions and resources that cannot be parsed.
 */
export async function prefetchResources(
  versions: readonly ResourceVersion[],
  reading: SearchContextOf,
  expressions: ExpressionRunner,
): Promise<PrefetchedResources> {
  const read = new Map<ResourceVersion, Resource>()
  for (const [tenant, some] of Map.groupBy(versions, (version) => version.tenant)) await readOf(some, reading(tenant), expressions, read)
  return read
}

/** Evaluates the resources of one tenant and adds them to `read`. */
async function readOf(
  versions: readonly ResourceVersion[],
  reading: SearchContext,
  expressions: ExpressionRunner,
  read: Map<ResourceVersion, Resource>,
): Promise<void> {
  const types = new Set(reading.custom?.filter(usesEvaluationBudget).map(({ base }) => base))
  const mine = versions.filter(({ type, deleted }) => types.has(type) && !deleted)
  const [whose] = mine.map(({ tenant }) => tenant)
  if (whose === undefined) return
  for (const version of mine) readInto(read, version)
  // Ignore a failed evaluation here. Its parameters have no values, and building the document reports that.
  await evaluateAhead(
    mine.flatMap((version) => read.get(version) ?? []),
    reading,
    { evaluate: (asked, budget) => expressions.evaluate(asked, { ...budget, whose }) },
  ).catch(() => undefined)
}

function readInto(read: Map<ResourceVersion, Resource>, version: ResourceVersion): void {
  try {
    read.set(version, parseJsonBytes(version.body) as Resource)
  } catch {
    // Report nothing here: building the document parses the resource again and reports the error.
  }
}
