/** How guessing is slowed: for one account, one client, one address; and what others behind it notice. */
import { describe, expect, it } from '@jest/globals'
import { type Guesser, throttleAttempt, throttleFailedAttempts } from '../../../lambdas/auth/login/guess-throttle.ts'
import { OAuthError } from '../../../lambdas/auth/oauth-error.ts'
import { isFault, MachineFault } from '../../../lambdas/ports/faults.ts'
import { fault } from '../../fixtures/machine-fault.ts'
import { MemoryGrants } from '../../fixtures/memory/grants.ts'
import { shortenPauses } from '../../fixtures/short-pauses.ts'

function begun() {
  let now = 10_000_000
  const clock = { now: () => now, newId: () => '' }
  const ports = { grants: new MemoryGrants(clock.now), clock }
  const later = (milliseconds: number): void => {
    now += milliseconds
  }
  const attempt = (guesser: Guesser, isRight = false): Promise<string> =>
    throttleAttempt(ports, [guesser], async () => (isRight ? true : undefined)).then(
      (result) => (result === undefined ? 'wrong' : 'right'),
      (error: OAuthError | MachineFault) =>
        error instanceof MachineFault ? error.fault : `${error.status} ${error.headers['retry-after']}`,
    )
  return { ports, later, attempt }
}

const ANN: Guesser = { of: 'account', name: 'ann' }
const HOSPITAL: Guesser = { of: 'address', name: '192.0.2.1' }

const times = async <T>(count: number, work: () => Promise<T>): Promise<readonly T[]> => {
  const found: T[] = []
  for (let i = 0; i < count; i++) found.push(await work())
  return found
}

describe('an account', () => {
  it('has five attempts, then waits up to minutes; other accounts do not wait', async () => {
    const { attempt, later } = begun()
    expect(await times(6, () => attempt(ANN))).toEqual([...Array(5).fill('wrong'), '429 1'])
    const waits: string[] = []
    for (let seconds = 1; seconds < 2_000; seconds *= 2) {
      later(Math.min(seconds, 900) * 1_000)
      expect(await attempt(ANN)).toBe('wrong')
      waits.push(await attempt(ANN))
    }
    expect(waits).toEqual(['429 2', '429 4', '429 8', '429 16', '429 32', '429 64', '429 128', '429 256', '429 256', '429 512', '429 512'])
    expect(await attempt({ of: 'account', name: 'bob' })).toBe('wrong')
  })

  it('has all attempts again after the right password, and one more per quarter of an hour', async () => {
    const { attempt, later } = begun()
    await times(4, () => attempt(ANN))
    expect([await attempt(ANN, true), ...(await times(5, () => attempt(ANN)))]).toEqual(['right', ...Array(5).fill('wrong')])
    later(3 * 900_000)
    expect(await times(4, () => attempt(ANN))).toEqual(['wrong', 'wrong', 'wrong', '429 1'])
  })

  it('is not charged for attempts that fail by a machine fault', async () => {
    const { ports, attempt } = begun()
    const failing = () => throttleAttempt(ports, [ANN, HOSPITAL], () => Promise.reject(new MachineFault('overloaded', 'busy')))
    for (let i = 0; i < 100; i++) await expect(failing()).rejects.toThrow(fault('overloaded'))
    expect([await attempt(ANN), await attempt(HOSPITAL)]).toEqual(['wrong', 'wrong'])
    await times(3, () => attempt(ANN))
    await expect(failing()).rejects.toThrow(fault('overloaded'))
    expect([await attempt(ANN), await attempt(ANN)]).toEqual(['wrong', '429 1'])
  })

  it('allows at most five of 200 concurrent guesses', async () => {
    const { attempt } = begun()
    const answers = await Promise.all(Array.from({ length: 200 }, () => attempt(ANN)))
    expect(answers.filter((answer) => answer === 'wrong').length).toBeLessThanOrEqual(5)
  })
})

describe('attempts that wait for others', () => {
  it('end after some time if a stopped process has left its places behind', async () => {
    const { ports, attempt } = begun()
    for (let i = 0; i < 5; i++) void throttleAttempt(ports, [ANN], () => new Promise<undefined>(() => undefined))
    await new Promise(setImmediate)
    const { pauses, restore } = shortenPauses(0)
    expect(await attempt(ANN)).toBe('overloaded')
    restore()
    const total = pauses.reduce((sum, pause) => sum + pause, 0)
    expect([total > 10_000, total < 29_000]).toEqual([true, true])
  })

  it('have a limit for each account, so that those of one take no place from another', async () => {
    const { ports } = begun()
    const { promise, resolve } = Promise.withResolvers<true>()
    const attempts = (guesser: Guesser, count: number) =>
      Array.from({ length: count }, () => throttleAttempt(ports, [guesser], () => promise).catch((error: Error) => error))
    const ofAnn = attempts(ANN, 80)
    await new Promise(setImmediate)
    const ofBob = attempts({ of: 'account', name: 'bob' }, 10)
    await new Promise(setImmediate)
    resolve(true)
    expect(await Promise.all(ofBob)).toEqual(Array(10).fill(true))
    expect((await Promise.all(ofAnn)).filter((result) => isFault(result, 'overloaded'))).toHaveLength(15)
  })
})

describe('an address', () => {
  it('never refuses right passwords at the same moment, of one account or of many', async () => {
    const { ports } = begun()
    const logIn = (name: string) =>
      throttleAttempt(ports, [HOSPITAL, { of: 'place', name }, { of: 'account', name, spare: { of: 'spare', name } }], async () => {
        await Promise.resolve()
        return name
      })
    const names = Array.from({ length: 40 }, (_, i) => `user-${i}`)
    expect(await Promise.all(names.map(logIn))).toEqual(names)
    expect(await Promise.all(names.map(() => logIn('ann')))).toEqual(names.map(() => 'ann'))
    expect(ports.grants.size).toBe(0)
  })

  it('counts every one of many wrong passwords at the same moment', async () => {
    const { ports, later, attempt } = begun()
    const guess = () => throttleAttempt(ports, [HOSPITAL], async () => undefined)
    await Promise.all(Array.from({ length: 50 }, guess))
    expect(await attempt(HOSPITAL)).toBe('429 1')
    later(1_000)
    expect([await attempt(HOSPITAL, true), await attempt(HOSPITAL), await attempt(HOSPITAL)]).toEqual(['right', 'wrong', '429 2'])
  })

  it('drops an attempt after a minute if its process died', async () => {
    const { ports, later, attempt } = begun()
    for (let i = 0; i < 5; i++) void throttleAttempt(ports, [ANN], () => new Promise(() => undefined))
    later(60_000)
    expect(await attempt(ANN, true)).toBe('right')
  })

  it('waits 30 seconds at most, and never for occasional wrong attempts', async () => {
    const { attempt, later } = begun()
    const answers = await times(200, async () => {
      later(11_000)
      return attempt(HOSPITAL)
    })
    expect(new Set(answers)).toEqual(new Set(['wrong']))
    const flood = await times(300, async () => {
      later(30_000)
      return [await attempt(HOSPITAL), await attempt(HOSPITAL), await attempt(HOSPITAL), await attempt(HOSPITAL)]
    })
    expect(
      flood
        .at(-1)!
        .filter((answer) => answer !== 'wrong')
        .every((answer) => Number(answer.split(' ')[1]) <= 30),
    ).toBe(true)
    expect(flood.flat().filter((answer) => answer === 'wrong').length).toBeLessThan(1_200)
  })

  it('never waits for right passwords, however many there are', async () => {
    const { attempt } = begun()
    expect(new Set(await times(500, () => attempt(HOSPITAL, true)))).toEqual(new Set(['right']))
  })
})

describe('an account under attack', () => {
  const from = (network: string): readonly Guesser[] => [
    { of: 'place', name: `ann ${network}` },
    { of: 'account', name: 'ann', spare: { of: 'spare', name: 'ann' } },
  ]
  const attempted = (ports: Parameters<typeof throttleAttempt>[0], network: string, isRight = false): Promise<string> =>
    throttleAttempt(ports, from(network), async () => (isRight ? true : undefined)).then(
      (result) => (result === undefined ? 'wrong' : 'right'),
      (error: OAuthError) => String(error.status),
    )

  it('stays open to networks without wrong attempts, and throttles the others', async () => {
    const { ports } = begun()
    expect(await times(6, () => attempted(ports, 'bad'))).toEqual([...Array(5).fill('wrong'), '429'])
    expect([await attempted(ports, 'good', true), await attempted(ports, 'bad')]).toEqual(['right', '429'])
    expect(await times(7, () => attempted(ports, 'mistyping'))).toEqual([...Array(5).fill('wrong'), '429', '429'])
    expect(await times(30, () => attempted(ports, 'good', true))).toEqual(Array(30).fill('right'))
  })

  it('limits guesses from many addresses by a spare allowance, which refills', async () => {
    const { ports, later } = begun()
    let address = 0
    const guesses = await times(1_000, () => attempted(ports, `bad ${++address}`))
    expect(guesses.filter((answer) => answer === 'wrong')).toHaveLength(25)
    // Nothing was tried: it has guessed nothing.
    expect(await times(7, () => attempted(ports, 'good', true))).toEqual(Array(7).fill('429'))
    later(2_000)
    expect(await times(2, () => attempted(ports, 'good'))).toEqual(['wrong', 'wrong'])
    later(900_000)
    expect(await attempted(ports, 'good', true)).toBe('right')
  })
})

it('a clock that was set back neither prolongs a wait nor resets the attempts', async () => {
  const { attempt, later } = begun()
  await times(5, () => attempt(ANN))
  await times(50, () => attempt(HOSPITAL))
  expect([await attempt(ANN), await attempt(HOSPITAL)]).toEqual(['429 1', '429 1'])
  later(-3_600_000)
  expect([await attempt(ANN), await attempt(ANN), await attempt(HOSPITAL), await attempt(HOSPITAL)]).toEqual([
    'wrong',
    '429 2',
    'wrong',
    '429 2',
  ])
  // Clocks of two servers differ by some milliseconds.
  later(-50)
  expect(await attempt(ANN)).toBe('429 3')
})

it('a clock that was set back keeps no wait and no attempt under way', async () => {
  const { ports, attempt, later } = begun()
  await times(50, () => attempt(HOSPITAL))
  for (let i = 0; i < 5; i++) void throttleAttempt(ports, [ANN], () => new Promise(() => undefined))
  await new Promise(setImmediate)
  later(-3_600_000)
  expect(await times(2, () => attempt(HOSPITAL, true))).toEqual(['right', 'right'])
  expect(await attempt(ANN, true)).toBe('right')
})

it('a client has only its failures stored, and machine faults do not count', async () => {
  const { ports } = begun()
  const app: Guesser = { of: 'client', name: 'app' }
  await throttleFailedAttempts(ports, app, async () => 1)
  await expect(throttleFailedAttempts(ports, app, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken')
  expect(ports.grants.size).toBe(0)
  await expect(throttleFailedAttempts(ports, app, () => Promise.reject(new OAuthError('invalid_client', 'wrong', 401)))).rejects.toThrow(
    'wrong',
  )
  expect(ports.grants.size).toBe(1)
  await throttleFailedAttempts(ports, app, async () => 1)
  expect(ports.grants.size).toBe(0)
})
