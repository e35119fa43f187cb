/** The estimate of the time that an index needs to catch up. */
import { expect, it } from '@jest/globals'
import { CatchUpRate } from '../../../../lambdas/runtime/threads/search/catch-up-rate.ts'

it('estimates the time by the speed since the index fell behind', () => {
  const pace = new CatchUpRate()
  expect(pace.secondsTo(1_000_000)).toBe(1)
  pace.cameTo(0, 10_000, false)
  pace.cameTo(5_000, 11_000, false)
  expect([5_000, 5_001, 10_000, 50_000, 10_000_000].map((position) => pace.secondsTo(position))).toEqual([1, 1, 1, 9, 120])
  pace.cameTo(6_000, 13_000, true)
  expect(pace.secondsTo(16_000)).toBe(5)
})

it('ignores times without work', () => {
  const pace = new CatchUpRate()
  pace.cameTo(0, 0, false)
  pace.cameTo(1_000, 1_000, true)
  pace.cameTo(1_000, 3_600_000, false)
  pace.cameTo(11_000, 3_601_000, false)
  expect(pace.secondsTo(111_000)).toBe(10)
})

it('weights recent progress more than earlier progress', () => {
  const pace = new CatchUpRate()
  pace.cameTo(0, 0, false)
  pace.cameTo(25_000, 5_000, false)
  for (let at = 1; at <= 12; at++) pace.cameTo(25_000 + at * 25_000, 5_000 + at * 25_000, false)
  expect(pace.msTo(325_000 + 1_000, 305_000)).toBeGreaterThan(950)
})

it.each([
  ['the speed of the index is unknown', [[0, 0, false]], 10],
  [
    'it has caught up',
    [
      [0, 0, false],
      [1_000, 1_000, true],
    ],
    1_001,
  ],
  [
    'it stands still',
    [
      [0, 0, false],
      [1_000, 1_000, false],
      [1_000, 2_900, false],
    ],
    3_001,
  ],
] as const)('returns no time to wait if %s', (_, steps, now) => {
  const pace = new CatchUpRate()
  for (const [position, at, isThere] of steps) pace.cameTo(position, at, isThere)
  expect(pace.msTo(5_000, now)).toBe(0)
})

it('estimates the time to wait by the speed of the index', () => {
  const pace = new CatchUpRate()
  pace.cameTo(0, 0, false)
  pace.cameTo(1_000, 1_000, false)
  expect(pace.msTo(5_000, 3_000)).toBe(4_000)
  expect(pace.msTo(500, 3_000)).toBe(0)
})
