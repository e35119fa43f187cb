/** Parts of a deployment: settings, the request gate, retries, sealed texts, the clock. */
import { describe, expect, it, jest } from '@jest/globals'
import { AesSeal } from '../../lambdas/adapters/in-process/seal.ts'
import { SystemClock } from '../../lambdas/adapters/in-process/system-clock.ts'
import { readConfig, readProgramEnvironment, unknownVariables } from '../../lambdas/runtime/config.ts'
import { retryUntilSuccess } from '../../lambdas/runtime/embedded/open-retry.ts'
import { RequestGate } from '../../lambdas/runtime/embedded/request-gate.ts'
import { eventually } from '../fixtures/eventually.ts'
import { waitTurns } from '../fixtures/turns.ts'

describe('Settings', () => {
  it('have their defaults', () =>
    expect(readConfig({})).toMatchObject({ clientIds: 'required', versioning: true, maxTransactionEntries: 5000, allowedOrigins: ['*'] }))
  it('are read from the environment', () =>
    expect(
      readConfig({
        FHIR_CLIENT_IDS: 'optional',
        FHIR_VERSIONING: 'off',
        FHIR_MAX_BODY_BYTES: '5',
        FHIR_ALLOWED_ORIGINS: 'http://a, capacitor://localhost:81',
      }),
    ).toMatchObject({
      clientIds: 'optional',
      versioning: false,
      maxBodyBytes: 5,
      allowedOrigins: ['http://a', 'capacitor://localhost:81'],
    }))
  it.each([
    ['FHIR_CLIENT_IDS', 'maybe', 'one of required, optional'],
    ['FHIR_VERSIONING', '2', 'on or off'],
    ['FHIR_AUDIT_RETENTION_DAYS', '-1', 'a whole number from 1 to 36500'],
    ['FHIR_MAX_BODY_BYTES', '-1', 'a whole number from 1 to 100000000'],
    ['FHIR_MAX_REQUESTS', '0', 'a whole number from 1 on'],
    ['FHIR_EXPORT_RETENTION_DAYS', '36501', 'a whole number from 1 to 36500'],
    ['FHIR_ADDRESS_HEADER', 'X Forwarded For', 'the name of a header, such as X-Forwarded-For'],
    ['FHIR_SEARCH_BUDGET', '0', 'a whole number from 1 to 3600000'],
    ['FHIR_SEARCH_BUDGET', '1e3', 'a whole number from 1 to 3600000'],
    ['FHIR_SEARCH_BUDGET', '99999999999', 'a whole number from 1 to 3600000'],
    ...['app.example.org', 'https://app.example.org/', 'https://App.example.org', 'https://a b', 'https://a,'].map(
      (value) => ['FHIR_ALLOWED_ORIGINS', value, '* or origins as browsers send them, such as https://app.example.org'] as const,
    ),
    ...['scope', 'sub', 'client_id', 'aud', 'iss', 'exp', 'patient', '__proto__', '', 'a b', 'x'.repeat(101)].map(
      (claim) => ['FHIR_TENANT_CLAIM', claim, 'the name of a claim that says nothing else'] as const,
    ),
    ['FHIR_TIME_ZONE', 'Mars/Base', 'the name of a time zone, such as Europe/Berlin'],
  ])('are rejected by name if they are invalid: %s=%s', (name, value, expected) => {
    expect(() => readConfig({ [name]: value })).toThrow(`${name} is "${value}", but must be ${expected}`)
  })
  it('do not include similar variables, which are reported as unknown', () =>
    expect(
      unknownVariables({
        FHIR_CLIENT_ID: 'optional',
        FHIR_CLIENT_IDS: 'optional',
        FHIR_BASE_URL: 'x',
        FHIR_TEST_FULL: '1',
        FHIR_STAGE: 'a',
      }),
    ).toEqual(['FHIR_CLIENT_ID', 'FHIR_BASE_URL']))
  it('are hidden from the program that evaluates expressions, as are secrets', () =>
    expect(readProgramEnvironment({ TZ: 'UTC', FHIR_TABLE: 't', AWS_SECRET_ACCESS_KEY: 's', PATH: '/bin' })).toEqual({ TZ: 'UTC' }))
})

describe('The request gate', () => {
  it('waits for running requests before an exchange, and rejects others meanwhile', async () => {
    const gate = new RequestGate('old')
    const log: string[] = []
    let finish = (): void => undefined
    const refuse = async () => 'refused'
    const slow = gate.pass(async (inside) => {
      await new Promise<void>((resolve) => (finish = resolve))
      log.push(inside)
      return 'answered'
    }, refuse)
    const exchanged = gate.exchange(async () => {
      log.push('exchange')
      return 'new'
    })
    expect(await gate.pass(async () => 'answered', refuse)).toBe('refused')
    finish()
    expect(await slow).toBe('answered')
    await exchanged
    expect(log).toEqual(['old', 'exchange'])
    expect(await gate.pass(async (inside) => inside, refuse)).toBe('new')
  })
  it('stays closed if an exchange fails, and then has nothing to close', async () => {
    const gate = new RequestGate('old')
    await expect(gate.exchange(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
    const inside = async (inside: string) => inside
    expect([gate.isOpen, await gate.pass(inside, async () => 'refused')]).toEqual([false, 'refused'])
    await expect(gate.exchange(async () => 'new')).rejects.toThrow('shut')
    const left: string[] = []
    await gate.close(async (inside) => void left.push(inside))
    expect(left).toEqual([])
  })
  it('closes after a running exchange, and then rejects requests', async () => {
    const gate = new RequestGate('old')
    const log: string[] = []
    let exchange = (_: string): void => undefined
    const exchanged = gate.exchange(() => new Promise((resolve) => (exchange = resolve)))
    const closed = gate.close(async (inside) => void log.push(`left ${inside}`))
    await waitTurns(20)
    expect(log).toEqual([])
    exchange('new')
    await Promise.all([exchanged, closed])
    expect(log).toEqual(['left new'])
    expect(
      await gate.pass(
        async (inside) => inside,
        async () => 'refused',
      ),
    ).toBe('refused')
  })
})

describe('A retried operation', () => {
  const failing = (times: number) => {
    let attempts = 0
    return { attempts: () => attempts, attempt: async () => (++attempts <= times ? Promise.reject(new Error(`no ${attempts}`)) : 'made') }
  }
  const told = (signal = new AbortController().signal) => {
    const lines: string[] = []
    const onFailure = (error: unknown) => void lines.push((error as Error).message)
    return { lines, how: { signal, onFailure, onRecovery: () => void lines.push('recovered'), pause: 1 } }
  }
  it('is repeated until it succeeds; its failure and its recovery are reported once', async () => {
    const [{ attempt, attempts }, { lines, how }] = [failing(3), told()]
    expect(await retryUntilSuccess(attempt, how)).toBe('made')
    expect([attempts(), lines]).toEqual([4, ['no 1', 'recovered']])
  })
  it('is not reported if it succeeds at once', async () => {
    const { lines, how } = told()
    expect(await retryUntilSuccess(failing(0).attempt, how)).toBe('made')
    expect(lines).toEqual([])
  })
  it('is not repeated after its signal aborts', async () => {
    const ending = new AbortController()
    const [{ attempt, attempts }, { how }] = [failing(100_000), told(ending.signal)]
    const trying = retryUntilSuccess(attempt, { ...how, pause: 3_600_000 })
    await eventually(() => attempts() > 0)
    ending.abort()
    await expect(trying).rejects.toThrow('aborted')
    await expect(retryUntilSuccess(attempt, { ...how, signal: ending.signal })).rejects.toThrow('aborted')
    expect(attempts()).toBe(1)
  })
})

describe('A sealed text', () => {
  const seal = new AesSeal(new Uint8Array(32).fill(7))
  it('opens with its text and instant, and reveals nothing', () => {
    const sealed = seal.seal('Chalmers|1970', 1_700_000_000_123)
    expect(seal.open(sealed)).toEqual({ text: 'Chalmers|1970', at: 1_700_000_000_123 })
    expect(sealed).toMatch(/^[A-Za-z0-9_-]+$/)
    expect(Buffer.from(sealed, 'base64url').toString('latin1')).not.toContain('Chalmers')
  })
  it.each(['', 'a', 'ä'.repeat(256), 'ä'.repeat(257), 'x'.repeat(512), 'x'.repeat(513), '\u{1f600}'.repeat(20_000)])(
    'opens at any length, and is compressed if that makes it shorter',
    (text) => {
      const sealed = seal.seal(text, 1)
      expect(seal.open(sealed)?.text).toBe(text)
      expect(sealed.length).toBeLessThan(800)
    },
  )
  it('does not open when it was changed, cut, or sealed with another key', () => {
    const sealed = seal.seal('text', 1)
    for (let i = 0; i < sealed.length; i++)
      expect(seal.open(sealed.slice(0, i) + (sealed[i] === 'A' ? 'B' : 'A') + sealed.slice(i + 1))).toBeUndefined()
    for (const wrong of ['', 'x', sealed.slice(1), `${sealed}A`, new AesSeal(new Uint8Array(32)).seal('text', 1)])
      expect(seal.open(wrong)).toBeUndefined()
  })
})

it('the clock never goes back', () => {
  const clock = new SystemClock()
  const times = [5, 3, 6]
  const spy = jest.spyOn(Date, 'now').mockImplementation(() => times.shift() ?? 0)
  expect([clock.now(), clock.now(), clock.now()]).toEqual([5, 5, 6])
  spy.mockRestore()
  expect(new Set(Array.from({ length: 100 }, () => clock.newId())).size).toBe(100)
})
