/**
 * Index for conditional interactions where the index lags behind the store: writes that it may lack are read from the store. Together with
 * the uniqueness guards of commits, this misses only writes that the store shows late, by a second at most. A store that is later throws
 * the fault `writes-hidden`. https://hl7.org/fhir/R4/http.html#cond-update
 */
import { parseJsonBytes } from '../../fhir/json.ts'
import { FhirError } from '../../fhir/outcome.ts'
import type { Resource } from '../../fhir/resource.ts'
import type { Clock } from '../../ports/execution/clock.ts'
import type { ExpressionRunner } from '../../ports/execution/expression-runner.ts'
import { isFault } from '../../ports/faults.ts'
import { comparePositions, type Plan, predicateOf, ruleOf } from '../../ports/search/plan.ts'
import { decorateSearches, type Hit, type HitPage, type IndexDocument, type Searches } from '../../ports/search/search-index.ts'
import type { RecentWrites } from '../../ports/store/recent-writes.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import { evaluateAhead } from '../../search/custom/batch-evaluation.ts'
import { extract } from '../../search/documents/extract.ts'
import { matchesPredicate, sortPositionOf } from '../../search/evaluate.ts'
import type { SearchContextOf } from '../../search/search-context.ts'
import { nameOf } from '../resources/request-key.ts'
import { checkFullyEvaluated } from './fully-evaluated-index.ts'

export type RecentWritesIndexParts = {
  readonly index: Searches
  readonly resources: RecentWrites
  readonly clock: Clock
  readonly expressions: ExpressionRunner
  readonly reading: SearchContextOf
  /** Maximum recent versions of a type. Default: MOST_LATEST. */
  readonly most?: number
}

/**
 * Window of recent writes that is always read, in milliseconds. Replicas of an index differ, and a heartbeat may not pass every part of the
 * stream.
 */
const LATEST = 60_000
/** Margin before a heartbeat in milliseconds: longer than a commit takes after its timestamp is set, and than clocks differ. */
const STAMPED = 15_000
/** Maximum index lag for conditional interactions, in milliseconds. Beyond it they are answered 503. */
const FURTHEST = 5 * 60_000
/** Maximum recent versions of a type for conditional interactions. Beyond it they are answered 503. */
const MOST_LATEST = 2_000
/** Seconds until the next heartbeat, for Retry-After. */
const NEXT_PULSE = 60
/** Additional hits of an index page, and recent writes that are evaluated at once. */
const PAGE = 100

/**
 * Returns the index for the searches of one attempt. For each type it reads once the writes that the index may lack: all since the latest
 * heartbeat in the index (ports/search/heartbeat.ts), or all ever if there is none. `find` supports only plans that start at the first hit.
 * It throws FhirError 503 if the index lags too far behind, and 403 as fullyEvaluatedIndex does. The other methods are those of the index.
 */
export function recentWritesIndex(parts: RecentWritesIndexParts): Searches {
  const { index, clock } = parts
  const begun = clock.now()
  const read = new Map<string, { readonly since: number; readonly latest: Promise<readonly Latest[]> }>()
  const latestOf = (tenant: string, type: string, since: number): Promise<readonly Latest[]> => {
    const name = `${tenant}/${type}`
    const known = read.get(name)
    if (known !== undefined && known.since <= since) return known.latest
    const latest = readLatest(parts, tenant, type, since)
    read.set(name, { since, latest })
    return latest
  }
  return {
    ...decorateSearches(index, {}),
    async find(plan) {
      const page = await index.find(widened(plan))
      const since = sinceOf(page, plan, begun, clock.now())
      const latest = (await Promise.all(plan.types.map((type) => latestOf(plan.tenant, type, since)))).flat()
      // guard: recent-writes-apply-access
      for (const { type, failed, document } of latest)
        if (document !== undefined && failed.length > 0 && matchesPredicate(ruleOf(plan.access, type), document))
          checkFullyEvaluated(plan, type, (code) => failed.includes(code))
      const known = await othersOf(index, plan, page, new Set(latest.map(({ name }) => name)))
      const hits = [...known, ...latest.flatMap((each) => hitOf(each, plan))].toSorted((a, b) =>
        comparePositions(a.position, b.position, plan.order),
      )
      return { hits: hits.slice(0, plan.limit), more: hits.length > plan.limit }
    },
  }
}

const widened = (plan: Plan): Plan => ({ ...plan, limit: plan.limit + PAGE, total: 'none', pulse: true })

/** Returns the instant since which the index may lack writes, in milliseconds since 1970. */
function sinceOf({ pulse }: HitPage, { types }: Plan, begun: number, now: number): number {
  // A heartbeat from a clock that is ahead proves nothing: writes after it may have earlier timestamps.
  if (pulse === undefined || pulse > now + STAMPED) return 0
  if (now - pulse > FURTHEST) throw behind(`The search index of ${types.join(', ')} is more than ${FURTHEST / 60_000} minutes behind`)
  return Math.min(begun - LATEST, pulse - STAMPED)
}

const behind = (what: string): FhirError =>
  new FhirError(
    503,
    [{ severity: 'error', code: 'throttled', text: `${what}: what depends on a search cannot be done. Nothing was done: try again` }],
    {
      'retry-after': String(NEXT_PULSE),
    },
  )

/**
 * Current version of a recently written resource. Absent `document`: it is deleted. `failed`: codes of parameters without values because
 * their evaluation failed.
 */
type Latest = { readonly type: string; readonly name: string; readonly failed: readonly string[]; readonly document?: IndexDocument }

async function readLatest(parts: RecentWritesIndexParts, tenant: string, type: string, since: number): Promise<readonly Latest[]> {
  const { resources, most = MOST_LATEST } = parts
  const latest: Latest[] = []
  const versions: ResourceVersion[] = []
  try {
    for await (const version of resources.recent({ tenant, type }, since, most)) {
      versions.push(version)
      if (versions.length === PAGE) latest.push(...(await documentsOf(parts, tenant, versions.splice(0))))
    }
  } catch (error) {
    if (!isFault(error, 'index-behind')) throw error
    throw behind(`More than ${most.toLocaleString('en')} versions of ${type} were written that the search index may not have yet`)
  }
  return [...latest, ...(await documentsOf(parts, tenant, versions))]
}

async function documentsOf(
  parts: RecentWritesIndexParts,
  tenant: string,
  versions: readonly ResourceVersion[],
): Promise<readonly Latest[]> {
  const reading = parts.reading(tenant)
  const resources = versions.map(({ deleted, body }) => (deleted ? undefined : (parseJsonBytes(body) as Resource)))
  await evaluateAhead(
    resources.filter((each) => each !== undefined),
    reading,
    parts.expressions,
  )
  return versions.map((version, i) => {
    const [type, name, resource, failed] = [version.type, nameOf(version), resources[i], [] as string[]]
    if (resource === undefined) return { type, name, failed }
    const document = extract(version, resource, reading, (code) => failed.push(code))
    return { type, name, failed, document: { ...document, body: NO_BODY } }
  })
}

/** Replaces the body of a document: the attempt holds its documents in memory without bodies. */
const NO_BODY = new Uint8Array()

function hitOf({ document }: Latest, plan: Plan): readonly Hit[] {
  if (document === undefined || !matchesPredicate(predicateOf(plan, document.type), document)) return []
  const { type, id, version } = document
  return [{ type, id, version, position: sortPositionOf(document, plan.order) }]
}

/** Returns index hits that are not recent writes, until there are more than the limit or no further ones. `page`: the first page. */
async function othersOf(index: Searches, plan: Plan, page: HitPage, latest: ReadonlySet<string>): Promise<readonly Hit[]> {
  const others: Hit[] = []
  for (let { hits, more } = page; ; ) {
    others.push(...hits.filter((hit) => !latest.has(nameOf(hit))))
    const after = hits.at(-1)?.position
    if (!more || after === undefined || others.length > plan.limit) return others
    ;({ hits, more } = await index.find({ ...widened(plan), after }))
  }
}
