/** Times of the calls of a request, with a clock that the test moves. */
import { describe, expect, it } from '@jest/globals'
import { CallTimes, timed } from '../../../lambdas/ports/execution/call-times.ts'

describe('the times of the calls of a request', () => {
  let now = 0
  const takes = (time: number) => async () => {
    now += time
    return time
  }

  it('are added for each dependency, and calls at the same time count once', async () => {
    const times = new CallTimes(() => now)
    const slow = Promise.withResolvers<void>()
    await times.collect(async () => {
      expect(await timed('dynamodb', takes(3))).toBe(3)
      now += 10
      const running = timed('s3', () => slow.promise)
      await Promise.all([timed('dynamodb', takes(5)), timed('dynamodb', takes(0))])
      now += 7
      slow.resolve()
      await running
    })
    expect(times.summary).toEqual({ waited: 15, calls: { dynamodb: 8, s3: 12 } })
  })

  it('include a call that has not ended', async () => {
    const times = new CallTimes(() => now)
    const open = Promise.withResolvers<void>()
    const running = times.collect(() => timed('opensearch', () => open.promise))
    now += 8
    expect(times.summary).toEqual({ waited: 8, calls: { opensearch: 8 } })
    open.resolve()
    await running
  })

  it('include calls that fail, and no calls of other requests', async () => {
    const [one, other] = [new CallTimes(() => now), new CallTimes(() => now)]
    const failing = timed.bind(undefined, 'kms', async () => {
      now += 4
      throw new Error('refused')
    })
    await expect(one.collect(failing)).rejects.toThrow('refused')
    await other.collect(() => timed('index', takes(2)))
    await timed('store', takes(9))
    expect([one.summary, other.summary]).toEqual([
      { waited: 4, calls: { kms: 4 } },
      { waited: 2, calls: { index: 2 } },
    ])
  })
})
