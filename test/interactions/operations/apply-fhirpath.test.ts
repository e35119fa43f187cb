/** The turns of $apply-fhirpath: what others do leaves room for each client and user. */
import { expect, it } from '@jest/globals'
import { WHOLE_ACCESS } from '../../../lambdas/access/access.ts'
import type { Caller, FhirRequest } from '../../../lambdas/interactions/interaction.ts'
import { applyFhirPath } from '../../../lambdas/interactions/operations/apply-fhirpath.ts'
import type { EvaluationResult, ExpressionBudget, ExpressionRunner } from '../../../lambdas/ports/execution/expression-runner.ts'
import { eventually } from '../../fixtures/eventually.ts'
import { fault } from '../../fixtures/machine-fault.ts'

const parameter = [
  { name: 'fhirPath', valueString: 'true' },
  { name: 'resource', resource: { resourceType: 'Patient' } },
]

/** `release`: answers all evaluations that wait. */
function site() {
  const budgets: ExpressionBudget[] = []
  const waiting: ((outcomes: readonly EvaluationResult[]) => void)[] = []
  const expressions: ExpressionRunner = {
    evaluate: (_, budget) => {
      budgets.push(budget)
      return new Promise((resolve) => waiting.push(resolve))
    },
  }
  const apply = applyFhirPath({ expressions, validated: async () => [] })
  const ask = async (by: Partial<Caller> = {}): Promise<number> => {
    const caller: Caller = { tenant: 'north', client: 'app', user: 'ann', access: WHOLE_ACCESS, clientAuth: 'none', ...by }
    const about = { interaction: 'apply-fhirpath', parameters: [], posted: false, preconditions: {}, preferences: {} } as const
    const context = { baseUrl: 'http://x/fhir', reading: {}, requestId: 'r' }
    const request: FhirRequest = { ...about, ...caller, ...context, resource: { resourceType: 'Parameters', parameter } }
    return (await apply(request)).status
  }
  const release = (): void => {
    for (const resolve of waiting.splice(0)) resolve([{ ms: 1, values: [{ type: 'boolean', value: true }] }])
  }
  const reached = (count: number): Promise<boolean> => eventually(() => waiting.length === count)
  return { ask, release, reached, budgets }
}
const times = (count: number, ask: () => Promise<number>): Promise<number>[] => Array.from({ length: count }, ask)

it('refuses more than eight evaluations of a user at once, and evaluates those of others', async () => {
  const { ask, release, reached } = site()
  const own = times(8, () => ask())
  await reached(8)
  await expect(ask()).rejects.toThrow(fault('overloaded'))
  const others = [ask({ user: 'bob' }), ask({ client: 'other' }), ask({ tenant: 'south' })]
  await reached(11)
  release()
  expect(await Promise.all([...own, ...others])).toEqual(Array(11).fill(200))
  const again = ask()
  await reached(1)
  release()
  expect(await again).toBe(200)
})

it('refuses more than 32 evaluations of a tenant at once', async () => {
  const { ask, release, reached } = site()
  const all = ['a', 'b', 'c', 'd'].flatMap((user) => times(8, () => ask({ user })))
  await reached(32)
  await expect(ask({ user: 'e' })).rejects.toThrow(fault('overloaded'))
  const elsewhere = ask({ tenant: 'south' })
  await reached(33)
  release()
  expect(await Promise.all([...all, elsewhere])).toEqual(Array(33).fill(200))
})

it('names the tenant and the caller of an evaluation, so that they have turns', async () => {
  const { ask, release, reached, budgets } = site()
  const all = [ask(), ask({ user: 'bob' }), ask({ client: 'other' })]
  await reached(3)
  release()
  await Promise.all(all)
  expect(budgets.map(({ whose }) => whose)).toEqual(['north', 'north', 'north'])
  expect(new Set(budgets.map(({ caller }) => caller)).size).toBe(3)
})
