/** The sweep of large bodies at the size of a large stage, in simulated time. The night part has ten million of them. */
import { expect, it } from '@jest/globals'
import { continueBodySweep, sweepBodies, type WriteTimeRange } from '../../../lambdas/adapters/dynamodb/store/body-sweep.ts'
import { PASS_ROWS, type Pass } from '../../../lambdas/ports/rows/pass.ts'
import { SWEEP_MS } from '../../../lambdas/runtime/step-times.ts'
import { SWEEPS } from '../../../lib/stacks/sweeps.ts'
import { LargeBodies } from '../../fixtures/dynamodb/large-bodies.ts'
import { caseCountOf } from '../../fixtures/long-runs.ts'
import { MemoryRows } from '../../fixtures/memory/kept-rows.ts'
import { createPrintedRandom } from '../../fixtures/seeded-random.ts'
import { DAY } from '../../fixtures/set-clock.ts'

const ALL = 10_000_000
const COUNT = caseCountOf(20_000, ALL)
const WEEK = 7 * DAY
const START = Date.parse('2031-01-01T00:00:00Z')
/** Time budget of a call in milliseconds, in proportion to the number of bodies. */
const BUDGET = (SWEEP_MS * COUNT) / ALL
const FUNCTION_MS = 300_000
/** One of so many calls to S3 and DynamoDB fails, after all its attempts. */
const FAILING = 20_000

it('A sweep checks ten million bodies in a week, though calls fail and functions die', async () => {
  const random = createPrintedRandom('failures')
  const rows = new MemoryRows()
  const world = new LargeBodies(COUNT, START, random, FAILING)
  const now = () => world.now
  const pass = () => rows.read<Pass>(PASS_ROWS, 'bodies')
  const checkPage = (written: WriteTimeRange, after: string) => sweepBodies(world.table, world.blobs, written, after)
  let deaths = 0

  /** Calls the function each hour until a pass is complete that began since `begins`. Returns the time until then, in milliseconds. */
  async function sweepOnce(begins: number): Promise<number> {
    for (let hour = 0; hour < 24 * 8; hour++) {
      const called = begins + hour * SWEEPS.bodies.toMilliseconds()
      world.now = Math.max(world.now, called)
      const dies = random.below(5) === 0
      world.diesAt = dies ? called + random.below(BUDGET) : Number.POSITIVE_INFINITY
      const before = (await pass())?.after
      const listed = world.lists.length
      const call = continueBodySweep({ rows, checkPage, from: 0, budget: BUDGET, now })
      await call.catch(() => dies && deaths++)
      // A call begins where the previous one stopped, even if that one died.
      if (world.lists.length > listed) expect(world.lists[listed]).toBe(before ?? '')
      expect(world.now - called).toBeLessThan(FUNCTION_MS)
      const { began = 0, after } = (await pass()) ?? {}
      if (began >= begins && after === undefined) return world.now - began
    }
    throw new Error('the pass does not end')
  }

  const took = [await sweepOnce(START), await sweepOnce(START + WEEK)]
  const listed = world.lists.length
  process.stderr.write(
    `${COUNT} bodies, 5 % orphans: passes of ${took.map((ms) => (ms / DAY).toFixed(1)).join(' and ')} days, ${deaths} deaths, calls ${JSON.stringify(world.calls)}\n`,
  )
  expect([world.wrong, world.orphans]).toEqual([0, 0])
  expect(Math.max(...took)).toBeLessThan(WEEK)
  expect(deaths).toBeGreaterThan(0)
  // Pages that are checked again cost little.
  expect(world.calls.get).toBeLessThan(2.2 * COUNT)
  expect(listed).toBeLessThan((2.4 * COUNT) / 1_000 + 200)
})
