/** Decorators of lookups: each hook applies to every lookup of the index. */
import { describe, expect, it } from '@jest/globals'
import { and, type GroupPlan, type Plan, type SearchSubject } from '../../../lambdas/ports/search/plan.ts'
import { decorateSearches, type Searches } from '../../../lambdas/ports/search/search-index.ts'

const MATCHING = { tenant: 't', types: ['Patient'], where: and(), access: 'everything' } as const
const PLAN: Plan = { ...MATCHING, order: [], limit: 1, total: 'none' }
const GROUPS: GroupPlan = { ...MATCHING, order: [], limit: 1, field: 'gender:code', hits: 1 }

const RESULTS = { find: { hits: [], more: false }, groups: { groups: [], total: 0, more: false }, distinct: ['a'], explain: ['b'] }

/** `seen`: calls of the decorated index. */
function recorded() {
  const seen: unknown[] = []
  const answer =
    <Asked extends readonly unknown[], Result>(result: Result) =>
    async (...asked: Asked): Promise<Result> => {
      seen.push(asked)
      return result
    }
  const index: Searches = {
    find: answer(RESULTS.find),
    groups: answer(RESULTS.groups),
    distinct: answer(RESULTS.distinct),
    explain: answer(RESULTS.explain),
  }
  return { index, seen }
}

const LOOKUPS: Readonly<Record<keyof Searches, (index: Searches) => Promise<unknown>>> = {
  find: (index) => index.find(PLAN),
  groups: (index) => index.groups(GROUPS),
  distinct: (index) => index.distinct(MATCHING, 'name', 2),
  explain: (index) => index.explain(PLAN),
}
const ASKED: Readonly<Record<keyof Searches, readonly unknown[]>> = {
  find: [PLAN],
  groups: [GROUPS],
  distinct: [MATCHING, 'name', 2],
  explain: [PLAN],
}
const NAMES = Object.keys(LOOKUPS) as readonly (keyof Searches)[]

describe('decorateSearches', () => {
  it.each(NAMES)('passes %s on unchanged without hooks', async (name) => {
    const { index, seen } = recorded()
    expect([await LOOKUPS[name](decorateSearches(index, {})), seen]).toEqual([RESULTS[name], [ASKED[name]]])
  })

  it.each(NAMES)('changes the plan of %s', async (name) => {
    const { index, seen } = recorded()
    await LOOKUPS[name](decorateSearches(index, { plan: (plan) => ({ ...plan, eventual: true }) }))
    const [plan, ...more] = ASKED[name]
    expect(seen).toEqual([[{ ...(plan as object), eventual: true }, ...more]])
  })

  it.each([
    ['find', PLAN],
    ['groups', GROUPS],
    ['distinct', { ...MATCHING, field: 'name' }],
  ] as const)('runs before and after %s with its subject', async (name, subject) => {
    const { index, seen } = recorded()
    const steps: unknown[] = []
    const before = async (asked: SearchSubject) => void steps.push(['before', asked, seen.length])
    const after = async <Result>(asked: SearchSubject, result: Result) => {
      steps.push(['after', asked, result])
      return result
    }
    expect(await LOOKUPS[name](decorateSearches(index, { before, after }))).toEqual(RESULTS[name])
    expect(steps).toEqual([
      ['before', subject, 0],
      ['after', subject, RESULTS[name]],
    ])
  })

  it.each(['find', 'groups', 'distinct'] as const)('does not run %s if the hook before it throws', async (name) => {
    const { index, seen } = recorded()
    const before = () => Promise.reject(new Error('rejected'))
    await expect(LOOKUPS[name](decorateSearches(index, { before }))).rejects.toThrow('rejected')
    expect(seen).toEqual([])
  })
})
