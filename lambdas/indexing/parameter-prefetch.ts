/** Somebody's own parameters that are watched, or evaluated elsewhere, are evaluated on many resources before their documents are made. */
import { parseJsonBytes } from '../fhir/json.ts'
import type { Resource } from '../fhir/resource.ts'
import type { ExpressionRunner } from '../ports/execution/expression-runner.ts'
import type { ResourceVersion } from '../ports/store/resource-store.ts'
import { evaluateAhead } from '../search/custom/batch-evaluation.ts'
import { usesEvaluationBudget } from '../search/custom-evaluation.ts'
import type { SearchContext, SearchContextOf } from '../search/search-context.ts'

export type PrefetchedResources = ReadonlyMap<ResourceVersion, Resource>

/** Tenants whose parameters are evaluated at the same time: the versions of each are in memory, and the runner takes few calls. */
export const MOST_AHEAD = 8

export const NO_PREFETCHED_RESOURCES: PrefetchedResources = new Map()

/** Whether something is to be evaluated before. */
export const isPrefetchNeeded = ({ custom = [] }: SearchContext): boolean => custom.some(usesEvaluationBudget)

/** The resources of the types that have such parameters, which know their values from now on. What cannot be read is left out. */
export async function prefetchResources(
  versions: readonly ResourceVersion[],
  reading: SearchContextOf,
  expressions: ExpressionRunner,
): Promise<PrefetchedResources> {
  const read = new Map<ResourceVersion, Resource>()
  for (const [tenant, some] of Map.groupBy(versions, (version) => version.tenant)) await readOf(some, reading(tenant), expressions, read)
  return read
}

/** Those of one tenant. */
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
  // What could not be evaluated has no values, which is told when its document is made.
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
    // Met again, and told, when its document is made.
  }
}
