/** Plans of rebuilds whose count takes several steps. */
import { describe, expect, it } from '@jest/globals'
import { requestNewIndices, requestRebuild } from '../../../lambdas/indexing/lifecycle/rebuild-queue.ts'
import type { IndexState } from '../../../lambdas/indexing/lifecycle/state.ts'
import type { RebuildPlan } from '../../../lambdas/indexing/rebuild/rebuild-progress.ts'
import type { ResourceReader } from '../../../lambdas/ports/store/resource-store.ts'
import { randomOf } from '../../contracts/generated-search.ts'
import { caseCountOf } from '../../fixtures/long-runs.ts'
import { createRebuildWorld, type RebuildWorld, TENANT } from '../rebuilt-world.ts'

const EVERY = 7

/** Counts versions from the newest on, and lets a millisecond pass for each. Counts at least one. */
const extentOf =
  (it: RebuildWorld): ResourceReader['extent'] =>
  async ({ tenant, type, since = 0, until = Number.POSITIVE_INFINITY }, _, isOver) => {
    const mine = [...it.heads.values()].filter((head) => head.tenant === tenant && head.type === type)
    const stamps = mine.map(({ lastUpdated }) => lastUpdated).filter((stamp) => stamp > since && stamp <= until)
    const cuts: number[] = []
    for (const [i, stamp] of stamps.toSorted((a, b) => b - a).entries()) {
      it.pass(1)
      const isLast = i + 1 === stamps.length
      if ((i + 1) % EVERY === 0 && !isLast) cuts.unshift(stamp - 1)
      if (isOver?.() === true && !isLast) return { entries: i + 1, cuts: cuts.filter((cut) => cut > stamp - 1), rest: stamp - 1 }
    }
    return { entries: stamps.length, cuts }
  }

/** A world with patients of two tenants, whose plans are recorded. A step ends after `budget` counted versions. */
async function createWorld(budget: number) {
  const it = await createRebuildWorld(1, 40)
  for (let i = 0; i < 20; i++) await it.write(`other-${i}`, 'Other', 'two')
  it.budget = budget
  const { parts, progress } = it
  it.parts = (...args) => {
    const made = parts.apply(it, args)
    return { ...made, resources: { ...made.resources, extent: extentOf(it) } }
  }
  const plans: RebuildPlan[] = []
  const { addPlan } = progress
  progress.addPlan = async (ofType, plan) => {
    plans.push(plan)
    await addPlan.call(progress, ofType, plan)
  }
  return { it, plans }
}

const CASES: readonly (readonly [string, (state: IndexState) => IndexState, number])[] = [
  ['of all tenants', (state) => requestNewIndices(state, ['Patient']), 60],
  ['of one tenant', (state) => requestRebuild(state, TENANT, ['Patient']), 40],
]

describe.each(CASES)('The plan of a rebuild %s', (_, request, all) => {
  it.each([1, 5, 13])('is counted in steps that end after %i versions', async (budget) => {
    const { it, plans } = await createWorld(budget)
    await it.state.change(request)
    const totals: number[] = []
    await it.run('a', async ({ action }, isDone) => {
      if (action === 'fill' && !isDone) totals.push(...(await it.state.read()).value.rebuilds.map(({ total }) => total))
    })
    expect(plans.length).toBeGreaterThanOrEqual(all / (budget + 1))
    expect(plans.slice(0, -1).every(({ count }) => count !== undefined)).toBe(true)
    expect(new Set(totals)).toEqual(new Set([all]))
    // A release that does not know the count may take up an unfinished plan: its cuts ascend too.
    for (const { cuts } of plans) expect(cuts).toEqual([...new Set(cuts)].toSorted((a, b) => a - b))
    expect(it.made).toHaveLength(all)
    await it.expectWhole()
  })

  it('continues the count after steps that failed before or after they stored it', async () => {
    for (let seed = 0; seed < caseCountOf(5, 50); seed++) {
      const random = randomOf(seed)
      const { it } = await createWorld(1 + random.below(6))
      await it.state.change(request)
      const { addPlan } = it.progress
      it.progress.addPlan = async (...plan) => {
        if (random.below(4) === 0) throw new Error('the table does not respond')
        await addPlan(...plan)
        if (random.below(4) === 0) throw new Error('the response is lost')
      }
      const totals = new Set<number>()
      await it.run('a', async ({ action }, isDone) => {
        if (action === 'fill' && !isDone) for (const { total } of (await it.state.read()).value.rebuilds) totals.add(total)
      })
      expect([seed, [...totals]]).toEqual([seed, [all]])
      await it.expectWhole()
    }
  })
})

it('A plan continues the count of a tenant although another one came meanwhile, and counts both', async () => {
  const { it, plans } = await createWorld(5)
  await it.state.change((state) => requestNewIndices(state, ['Patient']))
  const { addPlan } = it.progress
  it.progress.addPlan = async (...plan) => {
    await addPlan.call(it.progress, ...plan)
    if (plans.length === 2) for (let i = 0; i < 3; i++) await it.write(`new-${i}`, 'New', 'a-new-one')
  }
  await it.nextFill('a')
  expect(plans[1]?.count?.partial?.tenant).toBe(TENANT)
  const { cuts } = plans.at(-1)!
  const inFirst = [...it.heads.values()].filter(({ tenant, lastUpdated }) => tenant === TENANT && lastUpdated <= cuts[0]!)
  expect([inFirst.length <= EVERY, (await it.state.read()).value.rebuilds.map(({ total }) => total)]).toEqual([true, [63]])
})

it.each([
  [100, 100],
  [101, -1],
])('The documents of %i tenants are counted up to a limit: %i', async (tenants, total) => {
  const it = await createRebuildWorld(1, 0)
  it.budget = 1_000
  // The world has a tenant "default" without patients.
  for (let i = 1; i < tenants; i++) await it.write('p', 'Name', `tenant-${i}`)
  await it.state.change((state) => requestNewIndices(state, ['Patient']))
  await it.nextFill('a')
  expect((await it.state.read()).value.rebuilds.map((each) => each.total)).toEqual([total === -1 ? -1 : tenants - 1])
})
