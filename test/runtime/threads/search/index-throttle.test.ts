/** When the index leaves the machine to the writes. */
import { describe, expect, it } from '@jest/globals'
import { YIELDING, Yielding } from '../../../../lambdas/runtime/threads/search/index-throttle.ts'

const NOW = 1_000_000
const MOMENT = { now: NOW, behind: 20_000, asked: 0, took: 10 }

/** Of a small machine in a flood, where a version takes a tenth of a millisecond. */
function flooded(processors = 2, versions: number = YIELDING.flood): Yielding {
  const yielding = new Yielding(processors)
  yielding.worked(10_000, 1_000)
  yielding.acknowledged(versions, NOW - 1)
  return yielding
}

describe('The index leaves the machine to the writes', () => {
  it('for seven parts in eight, while many versions at once keep coming', () => expect(flooded().pauseAfter(MOMENT)).toBe(70))

  it.each([
    ['somebody searches', flooded(), { asked: 1 }],
    ['it is nearly there', flooded(), { behind: YIELDING.behind }],
    ['making up for it would take twelve seconds', flooded(), { behind: 120_000 }],
    ['the flood is over', flooded(), { now: NOW - 1 + YIELDING.pause }],
    ['versions come one by one', flooded(2, YIELDING.flood - 1), {}],
    ['there are processors enough', flooded(4), {}],
    ['nothing is known of what it costs', new Yielding(2), {}],
  ])('not where %s', (_, yielding, moment) => expect(yielding.pauseAfter({ ...MOMENT, ...moment })).toBe(0))

  it('by what versions cost lately', () => {
    const yielding = flooded()
    expect(yielding.pauseAfter({ ...MOMENT, behind: 110_000 })).toBe(70)
    for (let i = 0; i < 10; i++) yielding.worked(20_000, 20_000)
    expect(yielding.pauseAfter({ ...MOMENT, behind: 110_000 })).toBe(0)
    for (let i = 0; i < 10; i++) yielding.worked(20_000, 2_000)
    expect(yielding.pauseAfter({ ...MOMENT, behind: 110_000 })).toBe(70)
  })
})
