/**
 * An index that follows its store, for conditional interactions: what it may not have come to yet is looked up among the latest writes. Together
 * with the guards of commits this leaves only what the store itself shows up to a second late; of more, the store throws WritesHidden. https://hl7.org/fhir/R4/http.html#cond-update
 */
import { parseJsonBytes } from '../../fhir/json.ts'
import { FhirError } from '../../fhir/outcome.ts'
import type { Resource } from '../../fhir/resource.ts'
import type { Clock } from '../../ports/execution/clock.ts'
import type { ExpressionRunner } from '../../ports/execution/expression-runner.ts'
import { IndexBehind } from '../../ports/faults/index-behind.ts'
import { comparePositions, type Plan, predicateOf, ruleOf } from '../../ports/search/plan.ts'
import type { Hit, HitPage, IndexDocument, SearchIndex } from '../../ports/search/search-index.ts'
import type { RecentWrites } from '../../ports/store/recent-writes.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import { evaluateAhead } from '../../search/custom/batch-evaluation.ts'
import { extract } from '../../search/documents/extract.ts'
import { matchesPredicate, sortPositionOf } from '../../search/evaluate.ts'
import type { SearchContextOf } from '../../search/search-context.ts'
import { nameOf } from '../resources/request-key.ts'
import { checkFullyEvaluated } from './fully-evaluated-index.ts'

export type RecentWritesIndexParts = {
  readonly index: SearchIndex
  readonly resources: RecentWrites
  readonly clock: Clock
  readonly expressions: ExpressionRunner
  readonly reading: SearchContextOf
  /** Versions that may be looked at. */
  readonly most?: number
}

/** A minute is looked at in any case: copies of an index differ, and a stream may have a part that no beat of the pulse comes through: ms. */
const LATEST = 60_000
/** Before a pulse was sent: longer than what was stamped earlier takes to be committed, and than clocks differ, ms. */
const STAMPED = 15_000
/** Further behind nothing is made conditional: ms. */
const FURTHEST = 5 * 60_000
/** Nor where so many versions of a type, and more, were written since the pulse. */
const MOST_LATEST = 2_000
/** Seconds until the next pulse. */
const NEXT_PULSE = 60
/** Hits of the index, or latest writes, taken at once. */
const PAGE = 100

/**
 * For the searches of one attempt. What the index may lack is read once for each type: all that was written since the pulse the index has
 * (ports/search/heartbeat.ts), or, where it has none, ever. `find` is from the first hit on; FhirError 503 where the index is too far behind, 403 as of fullyEvaluatedIndex;
 * all else is as of the index.
 */
export function recentWritesIndex(parts: RecentWritesIndexParts): SearchIndex {
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
    apply: (documents) => index.apply(documents),
    distinct: (matching, field, limit) => index.distinct(matching, field, limit),
    explain: (plan) => index.explain(plan),
    groups: (plan) => index.groups(plan),
    caughtUp: (...of) => index.caughtUp(...of),
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

/** Since when the index may lack what was written: ms since 1970. */
function sinceOf({ pulse }: HitPage, { types }: Plan, begun: number, now: number): number {
  // One from a clock that was ahead says nothing of what came since.
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

/** What a resource is now. No document: it is deleted. `failed`: codes of parameters it has no values of, though it may. */
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
    if (!(error instanceof IndexBehind)) throw error
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

/** Documents are kept, bodies are not. */
const NO_BODY = new Uint8Array()

function hitOf({ document }: Latest, plan: Plan): readonly Hit[] {
  if (document === undefined || !matchesPredicate(predicateOf(plan, document.type), document)) return []
  const { type, id, version } = document
  return [{ type, id, version, position: sortPositionOf(document, plan.order) }]
}

/** What the index finds apart from the latest, up to one more than is asked for. `page`: the first. */
async function othersOf(index: SearchIndex, plan: Plan, page: HitPage, latest: ReadonlySet<string>): Promise<readonly Hit[]> {
  const others: Hit[] = []
  for (let { hits, more } = page; ; ) {
    others.push(...hits.filter((hit) => !latest.has(nameOf(hit))))
    const after = hits.at(-1)?.position
    if (!more || after === undefined || others.length > plan.limit) return others
    ;({ hits, more } = await index.find({ ...widened(plan), after }))
  }
}
