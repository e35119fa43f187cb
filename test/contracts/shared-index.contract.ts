/** Searches of a tenant on an index that also finds shared definitions: the same as if these were the tenant's own. */
import { expect, it } from '@jest/globals'
import { sharedIndex } from '../../lambdas/interactions/searching/shared-index.ts'
import { type Matching, ruleOf } from '../../lambdas/ports/search/plan.ts'
import type { Hit, IndexDocument } from '../../lambdas/ports/search/search-index.ts'
import { matchesPredicate } from '../../lambdas/search/evaluate.ts'
import { caseCountOf, firstSeed } from '../fixtures/long-runs.ts'
import { documentsOf, groupPlanOf, planOf, randomOf, versionsOf } from './generated-search.ts'
import type { OpenedIndex } from './search-index.contract.ts'
import { allPages, groupMeaning, matchesOf, meaning, shownOf } from './search-meaning.ts'

/** Generated documents and plans have two types: one becomes a type of definitions. */
const typed = (type: string): string => (type === 'Observation' ? 'ValueSet' : type)

const plannedOf = <Asked extends Matching>(plan: Asked): Asked => ({
  ...plan,
  tenant: 'one',
  types: plan.types.map(typed),
  access:
    plan.access === 'everything' ? plan.access : Object.fromEntries(Object.entries(plan.access).map(([type, rule]) => [typed(type), rule])),
})

/** Returns the names of the shared documents that the plan can find, and all documents that it can find, in one tenant. */
function joined(
  { access }: Matching,
  history: readonly IndexDocument[],
): { readonly shared: ReadonlySet<string>; readonly documents: readonly IndexDocument[] } {
  const nameOf = ({ type, id }: Pick<IndexDocument, 'type' | 'id'>): string => `${type}/${id}`
  const all = { types: ['ValueSet', 'Patient'], where: { kind: 'all', of: [] }, access: 'everything' } as const
  const visible = ({ tenant }: { readonly tenant: string }) =>
    matchesOf({ ...all, tenant }, history).filter((each) => matchesPredicate(ruleOf(access, each.type), each))
  const own = new Set(visible({ tenant: 'one' }).map(nameOf))
  const shared = visible({ tenant: 'two' }).filter((each) => each.type === 'ValueSet' && !own.has(nameOf(each)))
  const names = new Set(shared.map(nameOf))
  const others = history.filter((each) => each.tenant === 'one' && !names.has(nameOf(each)))
  return { shared: names, documents: [...others, ...shared.map((each) => ({ ...each, tenant: 'one' }))] }
}

/** `rounds`: generated plans of a whole run. */
export function sharedIndexContract(name: string, create: () => Promise<OpenedIndex>, rounds = 5_000): void {
  it(`${name}: a search finds shared definitions as if they were the tenant's own`, async () => {
    const { index, close } = await create()
    const seed = firstSeed()
    const random = randomOf(seed)
    const history = versionsOf(documentsOf(random, caseCountOf(120, 400))).map((each) => ({
      ...each,
      type: typed(each.type),
      keys: each.deleted ? each.keys : { ...each.keys, '_id:code': [each.id] },
    }))
    await index.apply(history)
    const both = sharedIndex(index, { tenant: 'one', sharedTenant: 'two', reading: {} as never })
    for (let round = 0; round < caseCountOf(200, rounds); round++) {
      const plan = plannedOf(planOf(random))
      const { shared, documents } = joined(plan, history)
      const tenantsOf = (hits: readonly Hit[]) => hits.map(({ tenant }) => tenant)
      const sharing = (hits: readonly Hit[]) => hits.map(({ type, id }) => (shared.has(`${type}/${id}`) ? 'two' : undefined))
      const found = await both.find(plan)
      expect({ seed, round, plan, found: shownOf(found) }).toEqual({ seed, round, plan, found: shownOf(meaning(plan, documents)) })
      expect({ seed, round, plan, tenants: tenantsOf(found.hits) }).toEqual({ seed, round, plan, tenants: sharing(found.hits) })
      if (round % 4 !== 0) continue
      if (plan.skip === undefined) {
        const whole = meaning({ ...plan, limit: 10_000 }, documents)
        expect({ seed, plan, ids: (await allPages(both, plan)).map(({ id }) => id) }).toEqual({
          seed,
          plan,
          ids: whole.hits.map(({ id }) => id),
        })
      }
      const groupPlan = plannedOf(groupPlanOf(random))
      const grouped = joined(groupPlan, history)
      const page = await both.groups(groupPlan)
      const plain = { ...page, groups: page.groups.map((group) => ({ ...group, hits: group.hits.map(({ tenant: _, ...hit }) => hit) })) }
      expect({ seed, groupPlan, page: plain }).toEqual({ seed, groupPlan, page: groupMeaning(groupPlan, grouped.documents) })
      const last = page.groups.at(-1)
      if (page.more && last !== undefined) {
        const next = await both.groups({ ...groupPlan, skip: 0, after: { position: last.hits[0]!.position, key: last.key } })
        const meant = groupMeaning({ ...groupPlan, skip: (groupPlan.skip ?? 0) + groupPlan.limit }, grouped.documents)
        expect({ seed, groupPlan, keys: next.groups.map(({ key }) => key) }).toEqual({
          seed,
          groupPlan,
          keys: meant.groups.map(({ key }) => key),
        })
      }
      const keys = await both.distinct(groupPlan, 'c', 1_000)
      const meant = new Set(matchesOf(groupPlan, grouped.documents).flatMap((each) => each.keys.c ?? []))
      expect({ seed, groupPlan, keys: [...keys].sort() }).toEqual({ seed, groupPlan, keys: [...meant].sort() })
    }
    await close()
  })
}
