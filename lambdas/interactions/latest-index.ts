/**
 * An index that follows its store, for conditional interactions: what it has not come to yet is looked up among the latest writes. Together
 * with the guards of commits this leaves only what the store itself shows late. https://hl7.org/fhir/R4/http.html#cond-update
 */
import { parseJsonBytes } from '../fhir/json.ts'
import type { Resource } from '../fhir/resource.ts'
import type { Clock } from '../ports/clock.ts'
import type { HistoryPosition, ResourceReader, ResourceVersion } from '../ports/resource-store.ts'
import type { Hit, SearchIndex } from '../ports/search-index.ts'
import { evaluate, positionOf } from '../search/evaluate.ts'
import { extract } from '../search/extract.ts'
import { comparePositions, type Plan } from '../search/plan.ts'
import type { Reading } from '../search/reading.ts'

export type LatestParts = {
  readonly index: SearchIndex
  readonly resources: ResourceReader
  readonly clock: Clock
  /** As of now. */
  readonly reading: () => Reading
}

/** The index may be so far behind: ms. */
const LATEST = 60_000
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
    const known = await parts.index.find({ ...plan, limit: plan.limit + latest.size, total: 'none' })
    const hits = [...known.hits.filter((hit) => !latest.has(nameOf(hit))), ...matching(parts, plan, latest.values())].toSorted((a, b) =>
      comparePositions(a.position, b.position, plan.order),
    )
    return { hits: hits.slice(0, plan.limit), more: known.more || hits.length > plan.limit }
  },
})

const nameOf = ({ type, id }: { readonly type: string; readonly id: string }): string => `${type}/${id}`

/** The newest version of each resource written lately. Histories are read from their newest end: one since an instant would stay behind. */
async function latestOf({ resources, clock }: LatestParts, { tenant, types }: Plan): Promise<ReadonlyMap<string, ResourceVersion>> {
  const latest = new Map<string, ResourceVersion>()
  const since = clock.now() - LATEST
  for (const type of types) {
    let after: HistoryPosition | undefined
    for (let more = true; more && latest.size < MOST_LATEST; ) {
      const page = await resources.history({ tenant, type }, {}, after, PAGE)
      const recent = page.versions.filter(({ lastUpdated }) => lastUpdated >= since)
      for (const version of recent) if (!latest.has(nameOf(version))) latest.set(nameOf(version), version)
      after = recent.at(-1)
      more = page.more && recent.length === page.versions.length
    }
  }
  return latest
}

function* matching({ reading }: LatestParts, { where, order }: Plan, versions: Iterable<ResourceVersion>): Iterable<Hit> {
  for (const version of versions) {
    if (version.deleted) continue
    const document = extract(version, parseJsonBytes(version.body) as Resource, reading())
    if (!evaluate(where, document)) continue
    yield { type: version.type, id: version.id, version: version.versionId, position: positionOf(document, order) }
  }
}
