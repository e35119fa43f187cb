/**
 * Evaluates costly custom parameters on many resources at once, before their documents are built. Costly parameters use the evaluation
 * budget or are evaluated in a separate process.
 */
import { parseJsonBytes } from '../fhir/json.ts'
import type { Resource } from '../fhir/resource.ts'
import type { ExpressionRunner } from '../ports/execution/expression-runner.ts'
import type { ResourceVersion } from '../ports/store/resource-store.ts'
import { evaluateAhead } from '../search/custom/batch-evaluation.ts'
import { usesEvaluationBudget } from '../search/custom-evaluation.ts'
import type { SearchContext, SearchContextOf } from '../search/search-context.ts'

export type PrefetchedResources = ReadonlyMap<ResourceVersion, Resource>

/** Maximum tenants evaluated at the same time. The versions of each are in memory, and the runner accepts few calls. */
export const MOST_AHEAD = 8

export const NO_PREFETCHED_RESOURCES: PrefetchedResources = new Map()

/** Whether the search context has costly parameters, which must be evaluated before documents are built. */
export const isPrefetchNeeded = ({ custom = [] }: SearchContext): boolean => custom.some(usesEvaluationBudget)

/**
 * Evaluates the costly parameters of the versions. Returns the parsed resources that have such parameters; their values are cached. Leaves
 * out resources that cannot be parsed.
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

/** Adds the evaluated resources of one tenant to `read`. */
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
  // A parameter that could not be evaluated has no values. That is reported when the document is built.
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
    // Building the document parses the resource again and reports the error.
  }
}
