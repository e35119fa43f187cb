/** Reference implementation of searches: pages and groups by the definition of a plan, from all documents. */
import { expect } from '@jest/globals'
import {
  comparePositions,
  compareText,
  type GroupPlan,
  type Matching,
  type Plan,
  predicateOf,
  type SortKey,
} from '../../lambdas/ports/search/plan.ts'
import type { GroupPage, Hit, HitPage, IndexDocument, Searches } from '../../lambdas/ports/search/search-index.ts'
import { matchesPredicate, sortPositionOf } from '../../lambdas/search/evaluate.ts'

export const shownOf = ({ hits, more, total }: HitPage) => ({
  hits: hits.map(({ type, id, version, position }) => ({ type, id, version, position })),
  more,
  total,
})

/** Returns the live documents that match the plan. */
export function matchesOf({ tenant, types, where, access }: Matching, history: readonly IndexDocument[]): readonly IndexDocument[] {
  const newest = new Map<string, IndexDocument>()
  for (const each of history) {
    const name = `${each.type}/${each.id}`
    if (each.tenant === tenant && each.version > (newest.get(name)?.version ?? 0)) newest.set(name, each)
  }
  return [...newest.values()].filter(
    (each) => !each.deleted && types.includes(each.type) && matchesPredicate(predicateOf({ where, access }, each.type), each),
  )
}

const sorted = (documents: readonly IndexDocument[], order: readonly SortKey[]): readonly (Hit & { readonly document: IndexDocument })[] =>
  documents
    .map((document) => ({
      document,
      type: document.type,
      id: document.id,
      version: document.version,
      position: sortPositionOf(document, order),
    }))
    .sort((a, b) => comparePositions(a.position, b.position, order))

const hitOf = ({ type, id, version, position }: Hit): Hit => ({ type, id, version, position })

/** Returns the expected page: judges and sorts all live documents. */
export function meaning(plan: Plan, history: readonly IndexDocument[]): HitPage {
  const matches = sorted(matchesOf(plan, history), plan.order)
  const skip = plan.skip ?? 0
  return {
    hits: matches.slice(skip, skip + plan.limit).map(hitOf),
    more: matches.length > skip + plan.limit,
    ...(plan.total === 'none' ? {} : { total: matches.length }),
  }
}

export function groupMeaning(plan: GroupPlan, history: readonly IndexDocument[]): GroupPage {
  const matches = sorted(matchesOf(plan, history), plan.order)
  const keys = new Set(matches.flatMap(({ document }) => document.groups[plan.field] ?? []))
  const groups = [...keys]
    .map((key) => ({ key, members: matches.filter(({ document }) => document.groups[plan.field]?.includes(key)) }))
    .sort((a, b) => matches.indexOf(a.members[0]!) - matches.indexOf(b.members[0]!) || compareText(a.key, b.key))
  const skip = plan.skip ?? 0
  return {
    groups: groups
      .slice(skip, skip + plan.limit)
      .map(({ key, members }) => ({ key, size: members.length, hits: members.slice(0, plan.hits).map(hitOf) })),
    more: groups.length > skip + plan.limit,
    total: matches.length,
  }
}

/** Returns the hits of all pages. */
export async function allPages(index: Pick<Searches, 'find'>, plan: Plan): Promise<HitPage['hits']> {
  const hits: HitPage['hits'][number][] = []
  for (let after: Plan['after']; ; ) {
    const page = await index.find({ ...plan, ...(after === undefined ? {} : { after }) })
    hits.push(...page.hits)
    if (!page.more) return hits
    expect(page.hits).toHaveLength(plan.limit)
    after = page.hits.at(-1)!.position
  }
}
