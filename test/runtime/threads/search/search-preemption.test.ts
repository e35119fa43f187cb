/** Which search gives way to those that came meanwhile. */
import { describe, expect, it } from '@jest/globals'
import { givesWay, MOST_LOST, SHORT } from '../../../../lambdas/runtime/threads/search/search-preemption.ts'

const LONG = { ran: SHORT + 1, lost: 0, budget: 10_000, waiting: 1 }

describe('A search that has taken long gives way', () => {
  it('to whoever waits', () => expect(givesWay(LONG)).toBe(true))

  it.each([
    ['nobody waits', { waiting: 0 }],
    ['it is short', { ran: SHORT }],
    ['it has not taken as long as it lost before', { ran: SHORT + 1_000, lost: 1_000 }],
    ['it has lost a quarter of its budget', { ran: 9_000, lost: 10_000 * MOST_LOST }],
  ])('not where %s', (_, attempt) => expect(givesWay({ ...LONG, ...attempt })).toBe(false))

  it('a few times, and comes to its end', () => {
    const attempts: number[] = []
    let lost = 0
    for (let ran = 1; attempts.length < 100 && ran < LONG.budget; ran++) {
      if (!givesWay({ ...LONG, ran, lost })) continue
      attempts.push(ran)
      lost += ran
      ran = 0
    }
    expect(attempts).toEqual([251, 502, 1_004, 2_008])
  })
})
