/** Rates of requests without a token, at times that the test sets. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { FhirError } from '../../lambdas/fhir/outcome.ts'
import { PublicRates } from '../../lambdas/http/public-read/rates.ts'
import { openPublicDirectory, type PublicDirectory } from './public-directory.ts'

const SECOND = 1_000

describe('rates of public read', () => {
  const opened = (limits = { perAddress: 20, burst: 100, total: 200 }) => {
    const clock = { at: 0 }
    return { clock, rates: new PublicRates(limits, () => clock.at) }
  }

  /** Sends requests until one is rejected. Returns how many were not, and Retry-After. */
  function sendMost(rates: PublicRates, address = 'a', most = 1_000): readonly [number, string?] {
    for (let sent = 0; sent < most; sent++)
      try {
        rates.take(address)
      } catch (error) {
        return [sent, (error as FhirError).headers['retry-after'] ?? '']
      }
    return [most]
  }

  it('allow a burst of one address, and then its rate', () => {
    const { clock, rates } = opened()
    expect(sendMost(rates)).toEqual([100, '1'])
    clock.at += SECOND
    expect(sendMost(rates)).toEqual([20, '1'])
    clock.at += 60 * SECOND
    expect(sendMost(rates)).toEqual([100, '1'])
  })

  it('limit all addresses together', () => {
    const { clock, rates } = opened()
    const sent = Array.from({ length: 300 }, (_, i) => sendMost(rates, `10.0.0.${i}`, 1)[0])
    expect(sent.filter((each) => each === 1)).toHaveLength(200)
    clock.at += SECOND
    expect(sendMost(rates, 'another')).toEqual([100, '1'])
  })

  it('count the addresses of one IPv6 network as one', () => {
    const { rates } = opened()
    expect(sendMost(rates, '2001:db8:1:2::1')).toEqual([100, '1'])
    expect(sendMost(rates, '2001:db8:1:2::2')).toEqual([0, '1'])
    expect(sendMost(rates, '2001:db8:1:3::1')).toEqual([100, '1'])
  })

  it('say after how many seconds the next request is allowed', () => {
    const { rates } = opened({ perAddress: 1, burst: 1, total: 200 })
    rates.take('a')
    expect(sendMost(rates, 'a')).toEqual([0, '1'])
  })

  it('forget addresses that pause', () => {
    const { clock, rates } = opened()
    for (let i = 0; i < 100_000; i++) {
      clock.at += 5
      rates.take(`a${i}`)
    }
    expect(rates.size).toBeLessThan(3_000)
  })

  it('add nothing when the clock is set back', () => {
    const { clock, rates } = opened()
    expect(sendMost(rates)[0]).toBe(100)
    clock.at -= 60 * SECOND
    expect(sendMost(rates)[0]).toBe(0)
  })
})

describe('a flood of a public directory', () => {
  let directory: PublicDirectory

  beforeAll(async () => {
    directory = await openPublicDirectory({ FHIR_PUBLIC_READ_RATE: '2', FHIR_PUBLIC_READ_BURST: '4' })
  })
  afterAll(() => directory.close())

  it('is 429 with Retry-After, while requests with a token are answered', async () => {
    const statuses: number[] = []
    for (let i = 0; i < 5; i++) statuses.push((await directory.anybody.get('/Location')).status)
    expect(statuses).toEqual([200, 200, 200, 200, 429])
    const { status, headers, body } = await directory.anybody.get('/Location/a')
    expect([status, headers.get('retry-after'), body.issue[0].code]).toEqual([429, '1', 'throttled'])
    expect((await directory.administrator.get('/Location')).status).toBe(200)
    directory.clock.pass(SECOND)
    expect((await directory.anybody.get('/Location')).status).toBe(200)
  })

  it('counts a search by POST once', async () => {
    directory.clock.pass(10 * SECOND)
    const form = { method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: 'name=North' }
    const statuses: number[] = []
    for (let i = 0; i < 5; i++) statuses.push((await directory.anybody.raw('/Location/_search', form)).status)
    expect(statuses).toEqual([200, 200, 200, 200, 429])
  })
})
