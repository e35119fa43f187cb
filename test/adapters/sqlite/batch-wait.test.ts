/** Wait of a batch for further commits, with a clock and arrivals that the tests control. */
import { describe, expect, it } from '@jest/globals'
import { BatchWait } from '../../../lambdas/adapters/sqlite-store/writing/batch-wait.ts'

/** Weight of a small create in bytes. */
const SMALL = 4_300

type Begun = { readonly count: number; readonly after: number }

/**
 * Returns a function that forms a batch from commits that arrive at these times in milliseconds. It reports how many commits the batch has
 * and when it begins.
 */
function newBatches(): (arrivals: readonly number[], weight?: number) => Begun {
  let now = 0
  const nap = (): void => {
    now += 0.25
  }
  const wait = new BatchWait({ now: () => now, nap })
  return (arrivals, weight = SMALL) => {
    const [from, left] = [now, [...arrivals]]
    let count = 0
    const receive = (): boolean => {
      const hasArrived = left[0] !== undefined && from + left[0] <= now
      if (hasArrived) count += left.splice(0, 1).length
      return hasArrived
    }
    while (receive());
    wait.forMore(() => ({ count, weight: count * weight }), receive)
    wait.committed(count)
    return { count, after: now - from }
  }
}

const together = (count: number): readonly number[] => Array(count).fill(0)
const every = (ms: number, count: number): readonly number[] => [...Array(count).keys()].map((n) => n * ms)

describe('A batch', () => {
  it('begins at once for a lone writer', () => {
    const batch = newBatches()
    for (let n = 0; n < 3; n++) expect(batch([0])).toEqual({ count: 1, after: 0 })
  })

  it('begins at once after small batches, although more commits are about to arrive', () => {
    const batch = newBatches()
    batch(together(4))
    expect(batch([0, 0.5, 1, 1.5])).toEqual({ count: 1, after: 0 })
  })

  it('begins with the arrival that makes it as large as the last one', () => {
    const batch = newBatches()
    batch(together(8))
    for (let n = 0; n < 3; n++) expect(batch(every(0.5, 10))).toEqual({ count: 8, after: 3.5 })
  })

  it('has the commits that arrived during the last flush, and later ones wait for as many', () => {
    const batch = newBatches()
    batch(together(5))
    expect(batch(together(7))).toEqual({ count: 7, after: 0 })
    expect(batch(every(0.5, 8))).toEqual({ count: 7, after: 3 })
  })

  it('begins when it is heavy enough for a flush of its own', () => {
    const batch = newBatches()
    batch(together(40))
    expect(batch(every(0.25, 40), 100_000)).toEqual({ count: 5, after: 1 })
    expect(batch(every(0.25, 40), 600_000)).toEqual({ count: 1, after: 0 })
  })

  it('begins 2 ms after the latest arrival if the other writers have gone, and 8 ms after the first at the latest', () => {
    const batch = newBatches()
    batch(together(12))
    expect(batch(every(0.5, 7))).toEqual({ count: 7, after: 5 })
    batch(together(12))
    expect(batch(every(1.5, 7))).toEqual({ count: 6, after: 8 })
  })

  it('waits at most twice for the last of many writers', () => {
    const batch = newBatches()
    batch(together(16))
    expect([1, 2, 3, 4].map(() => batch([0]).after)).toEqual([2, 2, 0, 0])
  })
})
