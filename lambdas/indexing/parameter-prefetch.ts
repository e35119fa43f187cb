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
 * these objects, so the extraction must use them. Leaves out deletions and resources that cannot be parsed. Throws if the runner cannot
 * evaluate now. The caller must try again later, because the resources are not at fault.
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

/** Receives why the costly parameters of a tenant cannot be evaluated. */
export type PrefetchFailureHandler = (tenant: string, error: unknown) => void

/**
 * Evaluations that may become outdated. Reports a failure once per tenant and message, until an evaluation for the tenant succeeds, because
 * a failed evaluation is started again and again.
 */
export class ParameterPrefetch {
  readonly #expressions: ExpressionRunner
  readonly #onFailure: PrefetchFailureHandler
  /** Messages that were reported, by tenant. */
  readonly #reported = new Map<string, Set<string>>()

  constructor(expressions: ExpressionRunner, onFailure: PrefetchFailureHandler) {
    this.#expressions = expressions
    this.#onFailure = onFailure
  }

  /**
   * Like `prefetchResources`, for versions of one tenant, and stops when the evaluation becomes outdated. Returns undefined if it did, or if
   * the runner cannot evaluate now.
   */
  async evaluate(
    isNeeded: () => boolean,
    tenant: string,
    versions: readonly ResourceVersion[],
    reading: SearchContext,
  ): Promise<PrefetchedResources | undefined> {
    const evaluate: ExpressionRunner['evaluate'] = async (asked, budget) => {
      if (!isNeeded()) throw new Error('the evaluation is outdated')
      const results = await this.#expressions.evaluate(asked, budget)
      this.#reported.delete(tenant)
      return results
    }
    try {
      return await prefetchResources(versions, () => reading, { evaluate })
    } catch (error) {
      if (isNeeded()) this.#failed(tenant, error)
      return undefined
    }
  }

  #failed(tenant: string, error: unknown): void {
    const reported = this.#reported.get(tenant) ?? new Set()
    const message = error instanceof Error ? error.message : String(error)
    if (reported.has(message)) return
    this.#reported.set(tenant, reported.add(message))
    this.#onFailure(tenant, error)
  }
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
  let isRunnerAtFault = false
  const evaluate: ExpressionRunner['evaluate'] = (asked, budget) =>
    expressions.evaluate(asked, { ...budget, whose }).catch((error) => {
      isRunnerAtFault = true
      throw error
    })
  const resources = mine.flatMap((version) => read.get(version) ?? [])
  await evaluateAhead(resources, reading, { evaluate }).catch((error) => {
    // Any other error is a resource's fault: its parameters have no values, and building the document reports that.
    if (isRunnerAtFault) throw error
  })
}

function readInto(read: Map<ResourceVersion, Resource>, version: ResourceVersion): void {
  try {
    read.set(version, parseJsonBytes(version.body) as Resource)
  } catch {
    // Report nothing here: building the document parses the resource again and reports the error.
  }
}
