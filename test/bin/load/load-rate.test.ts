/** The rate of a load and its estimate, with a clock that the test sets. */
import { expect, it } from '@jest/globals'
import { LoadRate } from '../../../bin/load/load-rate.ts'

function paced() {
  const time = { now: 1_000 }
  return { time, pace: new LoadRate(() => time.now) }
}

it('returns no estimate before ten seconds of data, and no rate before any', () => {
  const { time, pace } = paced()
  expect([pace.rate(), pace.left(1_000)]).toEqual([0, undefined])
  time.now += 9_999
  pace.add(500, 100)
  expect([pace.rate(), pace.resources, pace.left(1_000)]).toEqual([50, 500, undefined])
  time.now += 1
  pace.add(0, 0)
  expect(pace.left(1_000)).toBe('2 min')
})

it('returns no estimate while no file is read, regardless of the time', () => {
  const { time, pace } = paced()
  time.now += 60_000
  pace.add(6_000, 0)
  expect([pace.rate(), pace.left(1_000)]).toEqual([100, undefined])
})

it.each([
  [1_100, '1 s'],
  [6_900, '59 s'],
  [7_000, '60 s'],
  [7_001, '2 min'],
  [361_000, '60 min'],
  [361_001, '1 h 1 min'],
  [1_000_000, '2 h 47 min'],
  [1_000, '0 s'],
])('estimates from the average rate since the start: %d bytes take %s', (total, left) => {
  const { time, pace } = paced()
  time.now += 10_000
  pace.add(100, 1_000)
  expect(pace.left(total)).toBe(left)
})
