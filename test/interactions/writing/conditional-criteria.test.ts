/** Searches of conditional interactions. */
import { expect, it } from '@jest/globals'
import { WHOLE_ACCESS } from '../../../lambdas/access/access.ts'
import { criteriaOf, searchFor } from '../../../lambdas/interactions/writing/conditional-criteria.ts'
import type { Plan } from '../../../lambdas/ports/search/plan.ts'
import { parseParameterPairs } from '../../../lambdas/search/query/parameter-pairs.ts'
import { conditionalPorts, type Store } from '../../fixtures/conditional-writes.ts'

it.each([
  ['identifier=1', undefined],
  ['identifier=1&family=x', undefined],
  ['identifier=1&organization.name=x', true],
  ['identifier=1&_has:Observation:subject:code=x', true],
])('A search by %s names chains, because their keys are only as current as the index', async (query, isChained) => {
  const plans: Plan[] = []
  const index = {
    distinct: async () => [],
    find: async (plan: Plan) => {
      plans.push(plan)
      return { hits: [], more: false }
    },
  }
  const request = { tenant: 't', access: WHOLE_ACCESS, reading: { baseUrl: 'http://a.example' } }
  const ports = { ...conditionalPorts({} as Store, () => index as never), index }
  await searchFor(ports, criteriaOf(request, 'Patient', parseParameterPairs(query)))
  expect(plans.map((plan) => plan.isChained)).toEqual([isChained])
})
