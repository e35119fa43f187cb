/** What lambdas/ports/rows/grants.ts promises, as tests: every adapter runs this suite. */
import { describe, expect, it } from '@jest/globals'
import { throttleAttempt } from '../../lambdas/auth/login/guess-throttle.ts'
import { matchLimits } from '../../lambdas/partners/guesses/match-limits.ts'
import { noMemberMatched, unmatchedReasonOf } from '../../lambdas/partners/match/match-answer.ts'
import type { GrantKind, GrantRow, Grants } from '../../lambdas/ports/rows/grants.ts'
import { sentPerson } from '../partners/guesses/sent-person.ts'

export type GrantsUnderTest = {
  /** Each time as another process would open it, listing `PAGE_UNDER_TEST` at once; what was opened is closed at the end. */
  readonly open: () => Promise<Grants>
  /** What time all of them have from now on. */
  readonly setTime: (now: number) => void
  /** Entries there is room taken for, or undefined where the engine frees it by itself. */
  readonly taken: () => Promise<number | undefined>
}

export const PAGE_UNDER_TEST = 10

const T = Date.UTC(2026, 0, 1)
const ADDRESS = { of: 'address', name: '192.0.2.1' } as const
const KINDS: readonly GrantKind[] = ['code', 'refresh', 'session', 'launch', 'consent', 'assertion', 'attempts', 'guesses']
const STRANGE = ['#', 'a#b', 'a', 'A', ' ', 'ä', '💊', '\u0000', '__proto__', "'", '%', '_', 'k'.repeat(1_000), '€'.repeat(1_000)]

export function grantsContract(name: string, create: () => Promise<GrantsUnderTest>): void {
  const opened = async () => {
    const under = await create()
    under.setTime(T)
    return { ...under, here: await under.open(), there: await under.open() }
  }
  const each = (here: Grants, there: Grants, length = 10) => Array.from({ length }, (_, i) => (i % 2 === 0 ? here : there))

  describe(`${name}: grants`, () => {
    it('are readable by every process until they are removed', async () => {
      const { here, there } = await opened()
      const grant = { owner: 'alice', value: { a: [1, null, 'ä💊\u2028'], n: 1.5 }, expires: T + 1 }
      expect(await here.get('code', 'k')).toBeUndefined()
      expect(await here.add('code', 'k', grant)).toBe(true)
      expect(await there.get('code', 'k')).toEqual({ ...grant, key: 'k', number: expect.any(Number) })
      expect([await there.remove('code', 'k'), await here.remove('code', 'k'), await here.get('code', 'k')]).toEqual([
        true,
        false,
        undefined,
      ])
    })

    it.each([[undefined], [T + 60_000]])('are added by one of several concurrent calls, with expiry at %p', async (expires) => {
      const { here, there } = await opened()
      const grant = { owner: '', value: 1, ...(expires === undefined ? {} : { expires }) }
      const added = await Promise.all(each(here, there).map((side) => side.add('assertion', 'jti', grant)))
      expect(added.filter(Boolean)).toHaveLength(1)
      expect(await there.add('assertion', 'jti', grant)).toBe(false)
    })

    it('are removed by one of several concurrent calls', async () => {
      const { here, there } = await opened()
      await here.add('code', 'k', { owner: 'o', value: 1, expires: T + 1 })
      const removed = await Promise.all(each(here, there).map((side) => side.remove('code', 'k')))
      expect(removed.filter(Boolean)).toHaveLength(1)
      expect(await here.listOf('code', 'o')).toEqual([])
    })

    it('are replaced by one of 50 concurrent calls, and never from an older number', async () => {
      const { here, there } = await opened()
      await here.add('refresh', 'k', { owner: 'o', value: 0 })
      const known = (await there.get('refresh', 'k')) as GrantRow
      const replaced = await Promise.all(
        each(here, there, 50).map((side, i) => side.replace('refresh', known, { owner: 'o', value: i + 1 })),
      )
      expect(replaced.filter(Boolean)).toHaveLength(1)
      const now = (await here.get('refresh', 'k')) as GrantRow
      expect([now.value, now.number > known.number]).toEqual([replaced.indexOf(true) + 1, true])
      expect(await here.replace('refresh', known, { owner: 'o', value: 'late' })).toBe(false)
      expect(await there.replace('refresh', now, { owner: 'o', value: 'next' })).toBe(true)
      expect(await here.get('refresh', 'k')).toMatchObject({ value: 'next' })
    })

    it('are removed by number only while the number is current', async () => {
      const { here, there } = await opened()
      await here.add('consent', 'k', { owner: 'o', value: 1 })
      const known = (await here.get('consent', 'k')) as GrantRow
      await there.replace('consent', known, { owner: 'o', value: 2 })
      expect([await here.remove('consent', 'k', known.number), (await there.listOf('consent', 'o')).length]).toEqual([false, 1])
      const { number } = (await here.get('consent', 'k')) as GrantRow
      const removed = await Promise.all(each(here, there).map((side) => side.remove('consent', 'k', number)))
      expect([removed.filter(Boolean).length, await there.get('consent', 'k'), await there.listOf('consent', 'o')]).toEqual([
        1,
        undefined,
        [],
      ])
      expect(await here.remove('consent', 'gone', number)).toBe(false)
    })

    it('are not replaced once removed, even if added again under the same key', async () => {
      const { here, there } = await opened()
      await here.add('session', 'k', { owner: 'o', value: 1 })
      const known = (await here.get('session', 'k')) as GrantRow
      await there.remove('session', 'k')
      expect(await here.replace('session', known, { owner: 'o', value: 2 })).toBe(false)
      expect(await here.get('session', 'k')).toBeUndefined()
      await there.add('session', 'k', { owner: 'o', value: 1 })
      expect(await here.replace('session', known, { owner: 'o', value: 2 })).toBe(false)
      expect(await here.get('session', 'k')).toMatchObject({ value: 1 })
    })

    it('are absent from the instant of their expiry', async () => {
      const { here, there, setTime } = await opened()
      const grant = { owner: 'o', value: 1, expires: T + 1_000 }
      await here.add('code', 'k', grant)
      const known = (await here.get('code', 'k')) as GrantRow
      setTime(T + 999)
      expect([await there.get('code', 'k'), (await there.listOf('code', 'o')).length]).toEqual([known, 1])
      setTime(T + 1_000)
      expect([await here.get('code', 'k'), await there.get('code', 'k'), await there.listOf('code', 'o')]).toEqual([
        undefined,
        undefined,
        [],
      ])
      expect(await here.replace('code', known, { owner: 'o', value: 2, expires: T + 5_000 })).toBe(false)
      expect(await here.remove('code', 'k')).toBe(false)
      expect(await here.get('code', 'k')).toBeUndefined()
    })

    it('free their key when they expire, for one of several concurrent calls', async () => {
      const { here, there, setTime } = await opened()
      await here.add('attempts', 'k', { owner: 'before', value: 1, expires: T + 1 })
      setTime(T + 1)
      const added = await Promise.all(
        each(here, there).map((side, i) => side.add('attempts', 'k', { owner: 'o', value: i, expires: T + 2 })),
      )
      expect(added.filter(Boolean)).toHaveLength(1)
      expect(await there.get('attempts', 'k')).toMatchObject({ owner: 'o', value: added.indexOf(true) })
      expect([await here.listOf('attempts', 'before'), (await here.listOf('attempts', 'o')).length]).toEqual([[], 1])
    })

    it('carry 40 right logins at once from one address, in two processes', async () => {
      const { here, there } = await opened()
      const clock = { now: () => T, newId: () => '' }
      const names = Array.from({ length: 40 }, (_, i) => `user-${i}`)
      const logIn = (name: string, i: number) =>
        throttleAttempt({ grants: i % 2 === 0 ? here : there, clock }, [ADDRESS, { of: 'account', name }], async () => name)
      expect(await Promise.all(names.map(logIn))).toEqual(names)
      expect([await here.listOf('attempts', 'address'), await here.listOf('attempts', 'account')]).toEqual([[], []])
    })

    it('count five guesses of a partner at a card, however many processes look at once', async () => {
      const { here, there } = await opened()
      const [first, second] = [here, there].map((grants) =>
        matchLimits({ grants, now: () => T, readKey: async () => Buffer.alloc(32), alert: () => undefined }),
      )
      const find = () => Promise.reject(noMemberMatched('no match'))
      const store = async () => undefined
      const guess = (i: number) => (i % 2 === 0 ? first : second)!.limit('c', sentPerson(`W${i}`), find, store)
      const reasons = await Promise.all(Array.from({ length: 12 }, (_, i) => guess(i).catch(unmatchedReasonOf)))
      const countOf = (wanted: string) => reasons.filter((reason) => reason === wanted).length
      expect([countOf('no match'), countOf('too many guesses')]).toEqual([5, 7])
    })

    it('expire as their replacement says, or never', async () => {
      const { here, there, setTime } = await opened()
      await here.add('session', 'k', { owner: 'o', value: 1, expires: T + 1 })
      await here.replace('session', (await here.get('session', 'k'))!, { owner: 'o', value: 2, expires: T + 10 })
      setTime(T + 9)
      const longer = (await there.get('session', 'k')) as GrantRow
      expect(longer).toMatchObject({ value: 2, expires: T + 10 })
      await there.replace('session', longer, { owner: 'o', value: 3 })
      setTime(T + 1_000_000_000)
      await there.sweep()
      expect(await here.get('session', 'k')).toEqual({ owner: 'o', value: 3, key: 'k', number: expect.any(Number) })
      expect(await here.listOf('session', 'o')).toHaveLength(1)
    })

    it('are separate per kind and key, whatever the text', async () => {
      const { here, there } = await opened()
      for (const kind of KINDS) expect(await here.add(kind, 'k', { owner: 'o', value: kind })).toBe(true)
      for (const kind of KINDS) expect(await there.get(kind, 'k')).toMatchObject({ value: kind })
      for (const key of STRANGE) expect(await here.add('launch', key, { owner: key, value: key })).toBe(true)
      for (const key of STRANGE) {
        expect(await there.get('launch', key)).toMatchObject({ key, owner: key, value: key })
        expect((await there.listOf('launch', key)).map((grant) => grant.key)).toEqual([key])
        expect(await there.remove('launch', key)).toBe(true)
      }
      expect(await here.remove('code', 'k')).toBe(true)
      expect(await here.get('refresh', 'k')).toMatchObject({ value: 'refresh' })
    })

    it('are listed by owner and kind, in the order of their keys', async () => {
      const { here, there } = await opened()
      const keys = ['0', '10', '9', 'B', 'a', 'a#', 'ab', 'b']
      for (const key of keys.toReversed()) await here.add('consent', key, { owner: 'alice', value: key })
      await here.add('consent', 'of bob', { owner: 'bob', value: 1 })
      await here.add('session', 'other', { owner: 'alice', value: 1 })
      await here.add('consent', 'of alice#', { owner: 'alice#', value: 1 })
      expect((await there.listOf('consent', 'alice')).map(({ key, value }) => [key, value])).toEqual(keys.map((key) => [key, key]))
      expect(await there.listOf('consent', 'nobody')).toEqual([])
      await there.replace('consent', (await there.get('consent', 'a'))!, { owner: 'bob', value: 'moved' })
      expect((await here.listOf('consent', 'alice')).map(({ key }) => key)).toEqual(keys.filter((key) => key !== 'a'))
      expect((await here.listOf('consent', 'bob')).map(({ key }) => key)).toEqual(['a', 'of bob'])
    })

    it('are not listed without an owner', async () => {
      const { here } = await opened()
      await here.add('attempts', 'k', { owner: '', value: 1 })
      await here.replace('attempts', (await here.get('attempts', 'k'))!, { owner: '', value: 2 })
      expect([await here.get('attempts', 'k'), await here.listOf('attempts', '')]).toMatchObject([{ owner: '', value: 2 }, []])
      expect(await here.remove('attempts', 'k')).toBe(true)
    })

    it('are listed in pages during changes, and hold large values', async () => {
      const { here, there } = await opened()
      const value = 'ä'.repeat(45_000)
      expect(await here.add('session', 'large', { owner: 'o', value })).toBe(true)
      expect(await there.get('session', 'large')).toMatchObject({ value })
      const long = 'x'.repeat(300)
      const keys = Array.from({ length: 2.5 * PAGE_UNDER_TEST }, (_, i) => `k${String(i).padStart(4, '0')}${i % 7 === 3 ? long : ''}`)
      for (const key of keys) expect(await here.add('refresh', key, { owner: 'o', value: 1, expires: T + 10 })).toBe(true)
      const [third, replaced] = [keys[3]!, keys[14]!]
      const first = (await there.listOf('refresh', 'o')).map(({ key }) => key)
      expect(first).toEqual(keys.slice(0, PAGE_UNDER_TEST))
      await here.remove('refresh', third)
      await here.replace('refresh', (await here.get('refresh', replaced))!, { owner: 'o', value: 2, expires: T + 10 })
      const rest: GrantRow[] = []
      for (let last = first.at(-1); last !== undefined; ) {
        const page = await there.listOf('refresh', 'o', last)
        rest.push(...page)
        last = page.at(-1)?.key
      }
      expect(rest.map(({ key }) => key)).toEqual(keys.slice(PAGE_UNDER_TEST))
      expect(rest.find(({ key }) => key === replaced)?.value).toBe(2)
      expect((await there.listOf('refresh', 'o', first[1])).map(({ key }) => key)).toEqual([
        first[2],
        ...keys.slice(4, 3 + PAGE_UNDER_TEST),
      ])
    })

    it('are swept once they have expired, and no others', async () => {
      const { here, there, setTime, taken } = await opened()
      for (let i = 0; i < 30; i++) await here.add('code', `k${i}`, { owner: 'o', value: i, expires: T + (i < 20 ? 1 : 100) })
      await here.add('consent', 'stays', { owner: 'o', value: 1 })
      setTime(T + 1)
      await there.sweep()
      expect([11, undefined]).toContain(await taken())
      expect([(await here.listOf('code', 'o')).length, await here.get('consent', 'stays')]).toMatchObject([10, { value: 1 }])
    })
  })
}
