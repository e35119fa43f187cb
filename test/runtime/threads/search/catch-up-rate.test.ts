/** How long an index that is behind takes to catch up, as far as it can be told. */
import { expect, it } from '@jest/globals'
import { Pace } from '../../../../lambdas/runtime/threads/search/catch-up-rate.ts'

it('is told by how fast it has come since it fell behind', () => {
  const pace = new Pace()
  expect(pace.secondsTo(1_000_000)).toBe(1)
  pace.cameTo(0, 10_000, false)
  pace.cameTo(5_000, 11_000, false)
  expect([5_000, 5_001, 10_000, 50_000, 10_000_000].map((position) => pace.secondsTo(position))).toEqual([1, 1, 1, 9, 120])
  pace.cameTo(6_000, 13_000, true)
  expect(pace.secondsTo(16_000)).toBe(5)
})

it('counts no time in which there was nothing to do', () => {
  const pace = new Pace()
  pace.cameTo(0, 0, false)
  pace.cameTo(1_000, 1_000, true)
  pace.cameTo(1_000, 3_600_000, false)
  pace.cameTo(11_000, 3_601_000, false)
  expect(pace.secondsTo(111_000)).toBe(10)
})
