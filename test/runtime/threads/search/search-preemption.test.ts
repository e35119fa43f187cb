/** The rule by which a running search yields to later searches. */
import { describe, expect, it } from '@jest/globals'
import { MAX_LOST_SHARE, MIN_SEARCH_MS, mustYield } from '../../../../lambdas/runtime/threads/search/search-preemption.ts'

const LONG = { ran: MIN_SEARCH_MS + 1, lost: 0, budget: 10_000, waiting: 1 }

describe('A search that has run for long yields', () => {
  it('to a search that waits', () => expect(mustYield(LONG)).toBe(true))

  it.each([
    ['no other search waits', { waiting: 0 }],
    ['it is short', { ran: MIN_SEARCH_MS }],
    ['it has not taken as long as it lost before', { ran: MIN_SEARCH_MS + 1_000, lost: 1_000 }],
    ['it has lost a quarter of its budget', { ran: 9_000, lost: 10_000 * MAX_LOST_SHARE }],
  ])('not if %s', (_, attempt) => expect(mustYield({ ...LONG, ...attempt })).toBe(false))

  it('a few times, and then runs to its end', () => {
    const attempts: number[] = []
    let lost = 0
    for (let ran = 1; attempts.length < 100 && ran < LONG.budget; ran++) {
      if (!mustYield({ ...LONG, ran, lost })) continue
      attempts.push(ran)
      lost += ran
      ran = 0
    }
    expect(attempts).toEqual([251, 502, 1_004, 2_008])
  })
})
