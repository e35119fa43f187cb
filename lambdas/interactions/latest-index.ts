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
import type { Hit, IndexDocument, SearchIndex } from '../ports/search-index.ts'
import { evaluate, positionOf } from '../search/evaluate.ts'
import { evaluateAhead } from '../search/evaluated-ahead.ts'
import { extract } from '../search/extract.ts'
import { comparePositions, type Plan, type Position, ruleOf, whereOf } from '../search/plan.ts'
import type { ReadingOf } from '../search/reading.ts'
import { mustBeDecided } from './decided-index.ts'
import { nameOf } from './key.ts'

export type LatestParts = {
  readonly index: SearchIndex
  readonly resources: RecentWrites
  readonly clock: Clock
  readonly expressions: ExpressionRunner
  readonly reading: ReadingOf
}

/** The index may be so far behind: ms. */
const LATEST = 60_000
/** Hits of the index, or latest writes, taken at once. */
const PAGE = 100
/** More latest writes than these are not looked at: the search is then as late as the index. */
const MOST_LATEST = 2_000

/**
 * For the searches of one attempt: what was written lately is read once for each type. `find` is from the first hit on, or a FhirError 403 as
 * of decidedIndex; all else is as of the index.
 */
export function latestIndex(parts: LatestParts): SearchIndex {
  const { index } = parts
  const read = new Map<string, Promise<readonly Latest[]>>()
  const latestOf = (tenant: string, type: string): Promise<readonly Latest[]> => {
    const name = `${tenant}/${type}`
    const known = read.get(name) ?? readLatest(parts, tenant, type)
    read.set(name, known)
    return known
  }
  return {
    apply: (documents) => index.apply(documents),
    distinct: (matching, field, limit) => index.distinct(matching, field, limit),
    explain: (plan) => index.explain(plan),
    groups: (plan) => index.groups(plan),
    caughtUp: (tokens, patience) => index.caughtUp(tokens, patience),
    async find(plan) {
      const latest = (await Promise.all(plan.types.map((type) => latestOf(plan.tenant, type)))).flat()
      if (latest.length === 0) return index.find(plan)
      for (const { type, failed, document } of latest)
        if (document !== undefined && failed.length > 0 && evaluate(ruleOf(plan.access, type), document))
          mustBeDecided(plan, type, (code) => failed.includes(code))
      const known = await othersOf(index, plan, new Set(latest.map(({ name }) => name)))
      const hits = [...known, ...latest.flatMap((each) => hitOf(each, plan))].toSorted((a, b) =>
        comparePositions(a.position, b.position, plan.order),
      )
      return { hits: hits.slice(0, plan.limit), more: hits.length > plan.limit }
    },
  }
}

/** What a resource is now. No document: it is deleted. `failed`: codes of parameters it has no values of, though it may. */
type Latest = { readonly type: string; readonly name: string; readonly failed: readonly string[]; readonly document?: IndexDocument }

async function readLatest(parts: LatestParts, tenant: string, type: string): Promise<readonly Latest[]> {
  const { resources, clock } = parts
  const latest: Latest[] = []
  const versions: ResourceVersion[] = []
  for await (const version of resources.recent({ tenant, type }, clock.now() - LATEST, MOST_LATEST)) {
    versions.push(version)
    if (versions.length === PAGE) latest.push(...(await documentsOf(parts, tenant, versions.splice(0))))
  }
  return [...latest, ...(await documentsOf(parts, tenant, versions))]
}

async function documentsOf(parts: LatestParts, tenant: string, versions: readonly ResourceVersion[]): Promise<readonly Latest[]> {
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

/** Documents are kept, bodies are not. */
const NO_BODY = new Uint8Array()

function hitOf({ document }: Latest, plan: Plan): readonly Hit[] {
  if (document === undefined || !evaluate(whereOf(plan, document.type), document)) return []
  const { type, id, version } = document
  return [{ type, id, version, position: positionOf(document, plan.order) }]
}

/** What the index finds apart from the latest, up to one more than is asked for. */
async function othersOf(index: SearchIndex, plan: Plan, latest: ReadonlySet<string>): Promise<readonly Hit[]> {
  const others: Hit[] = []
  for (let after: Position | undefined; ; ) {
    const page = await index.find({ ...plan, limit: plan.limit + PAGE, total: 'none', ...(after === undefined ? {} : { after }) })
    others.push(...page.hits.filter((hit) => !latest.has(nameOf(hit))))
    after = page.hits.at(-1)?.position
    if (!page.more || after === undefined || others.length > plan.limit) return others
  }
}
