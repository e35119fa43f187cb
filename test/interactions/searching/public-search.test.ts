/** The time that a search without a token may take. */
import { expect, it } from '@jest/globals'
import { publicIndex } from '../../../lambdas/interactions/searching/public-search.ts'
import { ALWAYS_TRUE, type Freshness, type Plan } from '../../../lambdas/ports/search/plan.ts'
import type { Searches } from '../../../lambdas/ports/search/search-index.ts'

const PLAN: Plan = { tenant: 'a', types: ['Location'], where: ALWAYS_TRUE, access: {}, order: [], limit: 1, total: 'none' }

it('All lookups of a public search share one budget', async () => {
  const clock = { at: 5_000 }
  const budgets: (number | undefined)[] = []
  const note = ({ budget }: Freshness) => void budgets.push(budget)
  const index: Searches = {
    async find(plan) {
      note(plan)
      return { hits: [], more: false }
    },
    async distinct(matching) {
      note(matching)
      return []
    },
    groups: async () => ({ groups: [], more: false, total: 0 }),
    explain: async () => [],
  }
  const limited = publicIndex(index, () => clock.at)
  await limited.distinct(PLAN, 'name', 1)
  clock.at += 1_500
  await limited.find(PLAN)
  clock.at += 1_500
  await limited.find(PLAN)
  expect(budgets).toEqual([2_000, 500, 1])
})
