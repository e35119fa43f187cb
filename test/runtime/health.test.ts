/** The endpoint of the health: what it answers, and how often it checks. */
import { describe, expect, it } from '@jest/globals'
import type { IndexHealth } from '../../lambdas/ports/search/index-status.ts'
import { type HealthParts, healthEndpoint } from '../../lambdas/runtime/health.ts'
import { MINUTE, SetClock } from '../fixtures/set-clock.ts'

const SECOND = 1_000

function openHealth(parts: Partial<HealthParts> = {}) {
  const clock = new SetClock('2026-06-01T12:00:00Z')
  const reports: unknown[] = []
  let health: IndexHealth = { isWorking: true, lag: 0 }
  let checks = 0
  const endpoint = healthEndpoint({
    async check() {
      checks++
      return health
    },
    now: clock.wall,
    report: (error, requestId) => reports.push([(error as Error).message, requestId]),
    ...parts,
  })
  const ask = async (requestId = 'request-1') => {
    const { status, body } = await endpoint({ requestId })
    return [status, JSON.parse(body!)]
  }
  const become = (next: IndexHealth): void => {
    health = next
  }
  return { clock, reports, endpoint, ask, become, checks: () => checks }
}

describe('The health', () => {
  it('contains readiness and lag only, and no cache stores it', async () => {
    const { endpoint, become, clock } = openHealth()
    expect(await endpoint({ requestId: 'request-1' })).toEqual({
      status: 200,
      headers: { 'content-type': 'application/json', 'cache-control': 'no-store', 'x-request-id': 'request-1' },
      body: '{"ready":true,"lag":0}',
    })
    become({ isWorking: false, lag: 700 })
    clock.pass(MINUTE)
    expect(await endpoint({ requestId: 'request-2' })).toMatchObject({
      status: 503,
      headers: { 'x-request-id': 'request-2' },
      body: '{"ready":false,"lag":700}',
    })
  })

  it('is checked at most once in ten seconds for all callers', async () => {
    const { ask, become, clock, checks } = openHealth()
    await Promise.all(['a', 'b', 'c'].map(ask))
    become({ isWorking: true, lag: 3 })
    clock.pass(10 * SECOND - 1)
    expect([await ask(), checks()]).toEqual([[200, { ready: true, lag: 0 }], 1])
    clock.pass(1)
    expect([await Promise.all(['a', 'b'].map(ask)), checks()]).toEqual([
      [
        [200, { ready: true, lag: 3 }],
        [200, { ready: true, lag: 3 }],
      ],
      2,
    ])
    clock.pass(10 * SECOND - 1)
    await ask()
    expect(checks()).toBe(2)
  })

  it('is checked again after the clock went back', async () => {
    const { ask, become, clock } = openHealth()
    await ask()
    become({ isWorking: false, lag: 0 })
    clock.pass(-MINUTE)
    expect(await ask()).toEqual([503, { ready: false, lag: 0 }])
  })

  it('is not ready while a check fails, which is reported once', async () => {
    let checks = 0
    const check = () => (++checks === 1 ? Promise.reject(new Error('the store is gone')) : Promise.resolve({ isWorking: true, lag: 1 }))
    const { ask, clock, reports } = openHealth({ check })
    expect(await Promise.all(['a', 'b'].map(ask))).toEqual(['a', 'b'].map(() => [503, { ready: false, lag: null }]))
    expect(reports).toEqual([['the store is gone', 'a']])
    clock.pass(10 * SECOND)
    expect(await ask()).toEqual([200, { ready: true, lag: 1 }])
  })

  it('is not ready as soon as the server is closed, without a check', async () => {
    let isOpen = false
    const { ask, checks } = openHealth({ isOpen: () => isOpen })
    expect([await ask(), checks()]).toEqual([[503, { ready: false, lag: null }], 0])
    isOpen = true
    expect(await ask()).toEqual([200, { ready: true, lag: 0 }])
    isOpen = false
    expect([await ask(), checks()]).toEqual([[503, { ready: false, lag: null }], 1])
  })
})
