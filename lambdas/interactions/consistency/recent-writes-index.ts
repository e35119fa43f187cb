/**
 * Index for conditional interactions if the index lags behind the store. It also reads recent writes from the store. With the uniqueness
 * guards of commits, it misses only writes that the store shows late, by a second at most. A store with a longer delay throws the fault
 * `writes-hidden`. https://hl7.org/fhir/R4/http.html#cond-update
 */
import { FhirError } from '../../fhir/outcome.ts'
import type { Clock } from '../../ports/execution/clock.ts'
import { isFault } from '../../ports/faults.ts'
import { MAX_HEARTBEAT_AGE_MS } from '../../ports/search/heartbeat.ts'
import { comparePositions, type Plan } from '../../ports/search/plan.ts'
import { decorateSearches, type Hit, type HitPage, type Searches } from '../../ports/search/search-index.ts'
import type { RecentWrites } from '../../ports/store/recent-writes.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import { nameOf } from '../resources/request-key.ts'
import { checkVersions, type EvaluatedVersion, type EvaluationParts, evaluateVersions, hitOf } from './evaluated-versions.ts'

export type RecentWritesIndexParts = EvaluationParts & {
  readonly index: Searches
  readonly resources: RecentWrites
  readonly clock: Clock
  /** Maximum versions of one type to read as recent writes. With more, conditional interactions are answered 503. */
  readonly maxVersions: number
}

/**
 * Milliseconds before the attempt whose writes are read even if the latest heartbeat is newer. Replicas of an index differ, and a heartbeat
 * may not pass every part of the stream.
 */
const LATEST = 60_000
/**
 * Milliseconds before the latest heartbeat from which writes are read. Covers the duration of a commit after its timestamp is set, and the
 * differences between clocks.
 */
const STAMPED = 15_000
/** Seconds between two heartbeats. Retry-After of the 503 responses. */
const NEXT_PULSE = 60
/**
 * Hits that a lookup requests in addition to its limit, because recent writes may replace some. Also the number of recent writes evaluated
 * together.
 */
const PAGE = 100

/**
 * Returns the index for the searches of one attempt. For each type it reads the writes that the index may lack, and caches them. If the
 * index has no heartbeat, it reads all writes. `find` supports only plans without `after`. It throws FhirError 503 if the index lags too
 * far behind, and 403 as fullyEvaluatedIndex does. The other methods do not add recent writes.
 */
export function recentWritesIndex(parts: RecentWritesIndexParts): Searches {
  const { index, clock } = parts
  const begun = clock.now()
  const read = new Map<string, { readonly since: number; readonly latest: Promise<readonly EvaluatedVersion[]> }>()
  const latestOf = (tenant: string, type: string, since: number): Promise<readonly EvaluatedVersion[]> => {
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
      checkVersions(plan, latest)
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
  // Ignore a heartbeat with a timestamp in the future: writes after it may have earlier timestamps.
  if (pulse === undefined || pulse > now + STAMPED) return 0
  if (now - pulse > MAX_HEARTBEAT_AGE_MS)
    throw behind(`The search index of ${types.join(', ')} is more than ${MAX_HEARTBEAT_AGE_MS / 60_000} minutes behind`)
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

async function readLatest(
  parts: RecentWritesIndexParts,
  tenant: string,
  type: string,
  since: number,
): Promise<readonly EvaluatedVersion[]> {
  const { resources, maxVersions } = parts
  const latest: EvaluatedVersion[] = []
  const versions: ResourceVersion[] = []
  try {
    for await (const version of resources.recent({ tenant, type }, since, maxVersions)) {
      versions.push(version)
      if (versions.length === PAGE) latest.push(...(await evaluateVersions(parts, tenant, versions.splice(0))))
    }
  } catch (error) {
    if (!isFault(error, 'index-behind')) throw error
    throw behind(`More than ${maxVersions.toLocaleString('en')} versions of ${type} were written that the search index may not have yet`)
  }
  return [...latest, ...(await evaluateVersions(parts, tenant, versions))]
}

/**
 * Returns index hits of resources without recent writes. Reads pages until there are more than the limit or no more hits. `page`: the first
 * page. `latest`: names of the recently written resources.
 */
async function othersOf(index: Searches, plan: Plan, page: HitPage, latest: ReadonlySet<string>): Promise<readonly Hit[]> {
  const others: Hit[] = []
  for (let { hits, more } = page; ; ) {
    others.push(...hits.filter((hit) => !latest.has(nameOf(hit))))
    const after = hits.at(-1)?.position
    if (!more || after === undefined || others.length > plan.limit) return others
    ;({ hits, more } = await index.find({ ...widened(plan), after }))
  }
}
