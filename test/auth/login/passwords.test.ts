/** Passwords as they are kept and checked. */
import { scryptSync } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { passwordCheck } from '../../../lambdas/auth/login/password-check.ts'
import { isPassword, Passwords, SCRYPT_COST } from '../../../lambdas/auth/login/passwords.ts'
import { isFault } from '../../../lambdas/ports/faults.ts'
import type { User } from '../../../lambdas/ports/rows/users.ts'
import { MemoryUsers } from '../../fixtures/memory/registered.ts'

const cheap = { N: 16, r: 8, p: 1 }
const passwords = new Passwords(cheap)

describe('A password', () => {
  it('is stored as a scrypt hash with its cost', async () => {
    const kept = await new Passwords().hash('correct horse')
    const [kind, N, r, p, salt = '', hash] = kept.split('$')
    expect([kind, N, r, p, Buffer.from(salt, 'base64url').length]).toEqual(['scrypt', '65536', '8', '1', 16])
    const options = { ...SCRYPT_COST, maxmem: 2 ** 28 }
    expect(scryptSync('correct horse', Buffer.from(salt, 'base64url'), 32, options).toString('base64url')).toBe(hash)
  })

  it('is accepted exactly, whatever the cost, and reported as outdated below the cost', async () => {
    const kept = await passwords.hash('correct horse')
    for (const by of [passwords, new Passwords({ N: 32, r: 8, p: 2 })])
      for (const [typed, isIt] of [
        ['correct horse', true],
        ['correct horsf', false],
        ['correct horse ', false],
        ['', false],
        ['\u0000', false],
      ] as const)
        expect(await by.check(typed, kept)).toBe(isIt)
    const outdated = [cheap, { ...cheap, N: 32 }, { ...cheap, r: 4 }, SCRYPT_COST].map((cost) => new Passwords(cost).isOutdated(kept))
    expect(outdated).toEqual([false, true, false, true])
  })

  it('is stored with a random salt', async () => {
    const [first, second] = [await passwords.hash('correct horse'), await passwords.hash('correct horse')]
    expect(first).not.toBe(second)
  })

  it('is accepted in any Unicode composition', async () => {
    const kept = await passwords.hash('p\u00e4sswort!')
    expect(await passwords.check('pa\u0308sswort!', kept)).toBe(true)
  })

  it('has 8 to 1,000 characters', async () => {
    for (const [typed, fits] of [
      ['1234567', false],
      ['12345678', true],
      ['💊'.repeat(7), false],
      ['💊'.repeat(8), true],
      ['a\u0308'.repeat(7), false],
      ['x'.repeat(1_000), true],
      ['x'.repeat(1_001), false],
    ] as const) {
      expect([typed.length, isPassword(typed)]).toEqual([typed.length, fits])
      if (!fits) await expect(passwords.hash(typed)).rejects.toThrow(RangeError)
    }
    const kept = await passwords.hash('x'.repeat(1_000))
    expect([await passwords.check('x'.repeat(1_000), kept), await passwords.check('x'.repeat(100_000), kept)]).toEqual([true, false])
  })

  it('is rejected for a missing user or an unreadable hash', async () => {
    for (const kept of [undefined, '', 'scrypt$16$8$1$AA$AA', 'plain', `scrypt$16$8$1$AA$${'A'.repeat(43)}`])
      for (const typed of ['', 'correct horse']) expect(await passwords.check(typed, kept)).toBe(false)
  })

  it('is checked in turn for a missing user too', async () => {
    const begun: string[] = []
    const ends: (() => void)[] = []
    const busy = new Passwords(cheap, (typed) => {
      begun.push(typed)
      return new Promise((resolve) => ends.push(() => resolve(Buffer.alloc(32))))
    })
    const checks = [busy.check('a', undefined), busy.check('b', undefined), busy.check('c', 'nothing'), busy.check('d', undefined)]
    for (const expected of ['ab', 'abc', 'abcd']) {
      await new Promise(setImmediate)
      expect(begun.join('')).toBe(expected)
      ends.shift()!()
    }
    for (const end of ends) end()
    expect(await Promise.all(checks)).toEqual([false, false, false, false])
  })
})

describe('A login', () => {
  const dear = new Passwords({ ...cheap, N: 64 })

  async function aliceOf(by: Passwords) {
    const users = new MemoryUsers()
    const user: User = { name: 'alice', subject: 's', password: await by.hash('correct horse'), tenants: [], scopes: [], changedAt: 5 }
    await users.change('alice', () => user)
    return { users, user, check: passwordCheck({ users, passwords: dear }) }
  }

  it('rehashes a password of lower cost, and changes nothing else', async () => {
    const { users, user, check } = await aliceOf(passwords)
    expect([await check('wrong horse', user), await users.get('alice')]).toEqual([false, user])
    expect(await check('correct horse', user)).toBe(true)
    const known = (await users.get('alice'))!
    expect(known).toEqual({ ...user, password: expect.stringMatching(/^scrypt\$64\$/) })
    expect([await check('correct horse', known), users.writes]).toEqual([true, 2])
  })

  it('keeps a concurrently changed password, and succeeds if the rehash is not stored', async () => {
    const { users, user, check } = await aliceOf(passwords)
    const other = { ...user, password: await dear.hash('another horse') }
    await users.change('alice', () => other)
    expect([await check('correct horse', user), await users.get('alice')]).toEqual([true, other])
    const broken = { change: () => Promise.reject(new Error('full')) }
    expect(await passwordCheck({ users: broken, passwords: dear })('correct horse', user)).toBe(true)
    expect(await check('correct horse', undefined)).toBe(false)
  })
})

describe('Many concurrent checks', () => {
  it('queue up to a limit and are rejected beyond it until checks end', async () => {
    const kept = await passwords.hash('correct horse')
    const asked = Array.from({ length: 200 }, () => passwords.check('correct horse', kept))
    const ended = await Promise.allSettled(asked)
    const refused = ended.filter((each) => each.status === 'rejected')
    expect(ended.filter((each) => each.status === 'fulfilled' && each.value)).toHaveLength(62)
    expect(refused.every(({ reason }) => isFault(reason, 'overloaded'))).toBe(true)
    expect(await passwords.check('correct horse', kept)).toBe(true)
  })

  it('from one network delay another network by one turn, and are rejected in its place', async () => {
    const begun: string[] = []
    const ends: (() => void)[] = []
    const busy = new Passwords(cheap, (typed) => {
      begun.push(typed)
      return new Promise((resolve) => ends.push(() => resolve(Buffer.alloc(32))))
    })
    const rejected: string[] = []
    const check = (typed: string, network: string) => busy.check(typed, undefined, network).catch(() => rejected.push(typed))
    const many = Array.from({ length: 62 }, (_, i) => check(`many-${i}`, '192.0.2.1'))
    const one = check('one', '198.51.100.1')
    await new Promise(setImmediate)
    expect([begun, rejected]).toEqual([['many-0', 'many-1'], ['many-61']])
    while (begun.length < 62) {
      ends.shift()!()
      await new Promise(setImmediate)
    }
    expect([begun.indexOf('one'), begun.slice(3, 6)]).toEqual([3, ['one', 'many-3', 'many-4']])
    for (const end of ends) end()
    await Promise.all([...many, one])
  })

  it('run two at a time, also after failures and while others arrive', async () => {
    let [working, most] = [0, 0]
    const some = new Passwords(cheap, async (typed) => {
      most = Math.max(most, ++working)
      for (let i = 0; i < typed.length; i++) await Promise.resolve()
      working--
      if (typed.startsWith('fails')) throw new Error(typed)
      return Buffer.alloc(32)
    })
    const ended: Promise<unknown>[] = []
    for (let i = 0; i < 100; i++) {
      ended.push(some.check(i % 5 === 0 ? 'fails' : 'x'.repeat(i % 7), undefined).catch(() => 'failed'))
      for (let k = 0; k < i % 9; k++) await Promise.resolve()
    }
    expect([(await Promise.all(ended)).filter((each) => each === 'failed').length, most, working]).toEqual([20, 2, 0])
  })
})
