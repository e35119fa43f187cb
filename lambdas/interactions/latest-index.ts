/**
 * An index that follows its store, for conditional interactions: what it has not come to yet is looked up among the latest writes. Together
 * with the guards of commits this leaves only what the store itself shows late. https://hl7.org/fhir/R4/http.html#cond-update
 */
import { parseJsonBytes } from '../fhir/json.ts'
import type { Resource } from '../fhir/resource.ts'
import type { Clock } from '../ports/clock.ts'
import type { ExpressionRunner } from '../ports/expression-runner.ts'
import type { RecentWrites } from '../ports/recent-writes.ts'
import type { ResourceVersion } from '../ports/resource-store.ts'
import type { Hit, SearchIndex } from '../ports/search-index.ts'
import { evaluate, positionOf } from '../search/evaluate.ts'
import { evaluateAhead } from '../search/evaluated-ahead.ts'
import { extract } from '../search/extract.ts'
import { comparePositions, type Plan, type Position } from '../search/plan.ts'
import type { Reading } from '../search/reading.ts'
import { nameOf } from './key.ts'

export type LatestParts = {
  readonly index: SearchIndex
  readonly resources: RecentWrites
  readonly clock: Clock
  readonly expressions: ExpressionRunner
  /** As of now. */
  readonly reading: () => Reading
}

/** The index may be so far behind: ms. */
const LATEST = 60_000
/** Hits of the index, or latest writes, taken at once. */
const PAGE = 100
/** More latest writes than these are not looked at: the search is then as late as the index. */
const MOST_LATEST = 2_000

/** `find` is of one type, from the first hit on; all else is as of the index. */
export const latestIndex = (parts: LatestParts): SearchIndex => ({
  apply: (documents) => parts.index.apply(documents),
  distinct: (matching, field, limit) => parts.index.distinct(matching, field, limit),
  explain: (plan) => parts.index.explain(plan),
  groups: (plan) => parts.index.groups(plan),
  caughtUp: (tokens, patience) => parts.index.caughtUp(tokens, patience),
  async find(plan) {
    const latest = await latestOf(parts, plan)
    if (latest.size === 0) return parts.index.find(plan)
    const known = await othersOf(parts.index, plan, latest)
    const matching = [...latest.values()].filter((hit) => hit !== undefined)
    const hits = [...known, ...matching].toSorted((a, b) => comparePositions(a.position, b.position, plan.order))
    return { hits: hits.slice(0, plan.limit), more: hits.length > plan.limit }
  },
})

/** Resource → how it matches now; undefined: it does not. */
type Latest = ReadonlyMap<string, Hit | undefined>

async function latestOf(parts: LatestParts, plan: Plan): Promise<Latest> {
  const latest = new Map<string, Hit | undefined>()
  const { resources, clock } = parts
  for (const type of plan.types) {
    const versions: ResourceVersion[] = []
    for await (const version of resources.recent({ tenant: plan.tenant, type }, clock.now() - LATEST, MOST_LATEST)) {
      versions.push(version)
      if (versions.length === PAGE) await addHits(latest, versions.splice(0), plan, parts)
    }
    await addHits(latest, versions, plan, parts)
  }
  return latest
}

async function addHits(
  latest: Map<string, Hit | undefined>,
  versions: readonly ResourceVersion[],
  plan: Plan,
  { expressions, reading }: LatestParts,
): Promise<void> {
  const now = reading()
  const resources = versions.map(({ deleted, body }) => (deleted ? undefined : (parseJsonBytes(body) as Resource)))
  await evaluateAhead(
    resources.filter((each) => each !== undefined),
    now,
    expressions,
  )
  for (const [i, version] of versions.entries()) latest.set(nameOf(version), hitOf(version, resources[i], plan, now))
}

function hitOf(version: ResourceVersion, resource: Resource | undefined, { where, order }: Plan, reading: Reading): Hit | undefined {
  if (resource === undefined) return undefined
  const document = extract(version, resource, reading)
  if (!evaluate(where, document)) return undefined
  return { type: version.type, id: version.id, version: version.versionId, position: positionOf(document, order) }
}

/** What the index finds apart from the latest, up to one more than is asked for. */
async function othersOf(index: SearchIndex, plan: Plan, latest: Latest): Promise<readonly Hit[]> {
  const others: Hit[] = []
  for (let after: Position | undefined; ; ) {
    const page = await index.find({ ...plan, limit: plan.limit + PAGE, total: 'none', ...(after === undefined ? {} : { after }) })
    others.push(...page.hits.filter((hit) => !latest.has(nameOf(hit))))
    after = page.hits.at(-1)?.position
    if (!page.more || after === undefined || others.length > plan.limit) return others
  }
}
