/**
 * Reads the matches in groups. It reads all groups with their sizes and first hits, sorts them in this process, and then reads the hits of
 * the groups on the page.
 */
import { MachineFault } from '../../ports/faults.ts'
import { comparePositions, compareText, type GroupPlan, type GroupPosition, MAX_GROUPS, type SortKey } from '../../ports/search/plan.ts'
import type { GroupPage, Hit, HitGroup } from '../../ports/search/search-index.ts'
import { type Bucket, readBuckets } from './distinct.ts'
import { allOf, type Query, termsQuery } from './query.ts'
import { hitOf, type SearchResponse, type SearchSession, sortOf } from './search-requests.ts'

const PAGE = 2_000
/** Maximum searches that are sent in one request. */
const TOGETHER = 100

type GroupStart = GroupPosition & { readonly size: number; readonly first: Hit }
type FirstOf = Bucket & { readonly first: SearchResponse }

/**
 * Returns a page of groups. `source`: fields to read of each hit. Throws the fault `too-many-groups` if there are more than MAX_GROUPS
 * groups.
 */
export async function findGroups(
  searching: SearchSession,
  plan: GroupPlan,
  query: Query,
  source: readonly string[] | false,
): Promise<GroupPage> {
  const { types, order, limit, skip = 0, after } = plan
  const counted = await searching.search(types, { query, size: 0, track_total_hits: true })
  const all = (await startsOf(searching, plan, query)).toSorted((a, b) => comparePlaces(a, b, order))
  const rest = after === undefined ? all : all.filter((start) => comparePlaces(start, after, order) > 0)
  const shown = rest.slice(skip, skip + limit)
  const needsHits = plan.hits > 1 || source !== false
  const groups = needsHits
    ? await withHits(searching, plan, query, source, shown)
    : shown.map(({ key, size, first }) => ({ key, size, hits: [first] }))
  return { groups, more: rest.length > skip + limit, total: counted.hits.total!.value }
}

async function startsOf(searching: SearchSession, { types, field, order }: GroupPlan, query: Query): Promise<readonly GroupStart[]> {
  const starts: GroupStart[] = []
  const first = { top_hits: { size: 1, sort: sortOf(order), version: true, _source: false } }
  for await (const bucket of readBuckets<FirstOf>(searching, types, query, `groups.${field}`, PAGE, { first })) {
    if (starts.length === MAX_GROUPS) throw new MachineFault('too-many-groups', `more than ${MAX_GROUPS} groups`)
    const hit = hitOf(bucket.first.hits.hits[0]!)
    starts.push({ key: bucket.key, size: bucket.doc_count, first: hit, position: hit.position })
  }
  return starts
}

const comparePlaces = (a: GroupPosition, b: GroupPosition, order: readonly SortKey[]): number =>
  comparePositions(a.position, b.position, order) || compareText(a.key, b.key)

async function withHits(
  searching: SearchSession,
  { types, field, order, hits }: GroupPlan,
  query: Query,
  source: readonly string[] | false,
  shown: readonly GroupStart[],
): Promise<readonly HitGroup[]> {
  const groups: HitGroup[] = []
  for (let at = 0; at < shown.length; at += TOGETHER) {
    const some = shown.slice(at, at + TOGETHER)
    const found = await searching.searchAll(
      types,
      some.map(({ key }) => ({
        query: allOf([query, termsQuery(`groups.${field}`, [key])]),
        sort: sortOf(order),
        size: hits,
        version: true,
        track_total_hits: false,
        _source: source,
      })),
    )
    for (const [i, { key, size, first }] of some.entries()) {
      const members = found[i]!.hits.hits.map(hitOf)
      // The group may have lost its last member since it was counted. Then its first hit of that time is shown.
      groups.push({ key, size, hits: members.length === 0 ? [first] : members })
    }
  }
  return groups
}
