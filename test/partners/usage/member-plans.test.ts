/** Plans of members, and counts of transfers by plan. */
import { describe, expect, it } from '@jest/globals'
import { findMemberPlans } from '../../../lambdas/partners/usage/member-plans.ts'
import { countByPlan } from '../../../lambdas/partners/usage/patient-access-usage.ts'
import { plansAt } from '../../../lambdas/runtime/control/member-plans.ts'
import { newFolder } from '../../fixtures/at-end.ts'
import type { Tree } from '../../fixtures/resources.ts'
import { coverageOf, memberStoreOf } from '../member-store.ts'

const NOW = Date.UTC(2026, 5, 1)
const SYSTEM = 'http://terminology.hl7.org/CodeSystem/coverage-class'

const classOf = (value: string, code = 'plan', system = SYSTEM): Tree => ({ type: { coding: [{ system, code }] }, value })
const withPlan = (id: string, patient: string, plan: string, fields: Tree = {}): Tree =>
  coverageOf(id, patient, { class: [classOf(plan)], ...fields })

describe('plans of members', () => {
  it('are the plan classes of active Coverages that cover the instant', async () => {
    const data = await memberStoreOf([
      withPlan('a1', 'a', 'gold', { period: { start: '2026-01-01', end: '2026-12-31' } }),
      withPlan('a2', 'a', 'basic', { class: [classOf('basic'), classOf('gold'), classOf('123', 'group'), classOf('x', 'plan', 'urn:x')] }),
      withPlan('b1', 'b', 'old', { period: { end: '2025-12-31' } }),
      withPlan('b2', 'b', 'next', { period: { start: '2027-01-01' } }),
      withPlan('b3', 'b', 'cancelled', { status: 'cancelled' }),
      coverageOf('c1', 'c'),
      withPlan('d1', 'd', 'gold'),
    ])
    expect([...(await findMemberPlans(data, ['a', 'b', 'c', 'e'], NOW))]).toEqual([['a', ['basic', 'gold']]])
  })

  it('are found for more patients than one search names, and for patients with many Coverages', async () => {
    const patients = Array.from({ length: 250 }, (_, i) => `p${i}`)
    const many = Array.from({ length: 600 }, (_, i) => [withPlan(`x${i}`, 'p0', 'x'), withPlan(`y${i}`, 'p1', 'y')]).flat()
    const data = await memberStoreOf([...patients.map((id) => withPlan(`c-${id}`, id, id)), ...many])
    const plans = await findMemberPlans(data, patients, NOW)
    expect(plans.size).toBe(250)
    expect([plans.get('p0'), plans.get('p1'), plans.get('p249')]).toEqual([['p0', 'x'], ['p1', 'y'], ['p249']])
  })

  it('are read by a running server only', async () => {
    const folder = newFolder()
    await expect(plansAt({ folder })('default', ['a'])).rejects.toThrow(
      `No server runs on ${folder}. Start it, because only a running server reads the plans of members`,
    )
  })
})

describe('counts by plan', () => {
  it('count a patient in each of its plans, and as none without a plan', async () => {
    async function* transfers() {
      for (const [day, tenant, patient, client] of [
        ['2026-01-01', 'north', 'a', 'app'],
        ['2026-01-02', 'north', 'a', 'app'],
        ['2026-01-02', 'north', 'b', 'other'],
        ['2026-01-03', 'north', 'c', 'app'],
        ['2026-01-03', 'south', 'a', 'app'],
      ] as const)
        yield { day, tenant, patient, client }
    }
    const asked: unknown[] = []
    const plansOf = async (tenant: string, patients: readonly string[]) => {
      asked.push([tenant, patients])
      return new Map(tenant === 'north' ? [['a', ['gold', 'silver']] as const, ['b', ['gold']] as const] : [])
    }
    const gold = { plan: 'gold', enrollees: 2, repeated: 1, apps: 2 }
    const silver = { plan: 'silver', enrollees: 1, repeated: 1, apps: 1 }
    expect(await countByPlan(transfers(), plansOf)).toEqual([gold, { plan: 'none', enrollees: 2, repeated: 0, apps: 1 }, silver])
    expect(await countByPlan(transfers(), plansOf, 'north')).toEqual([gold, { plan: 'none', enrollees: 1, repeated: 0, apps: 1 }, silver])
    expect(asked).toEqual([
      ['north', ['a', 'b', 'c']],
      ['south', ['a']],
      ['north', ['a', 'b', 'c']],
    ])
  })
})
