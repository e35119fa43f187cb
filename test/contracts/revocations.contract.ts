/** What lambdas/ports/rows/revocations.ts promises, as tests: every adapter runs this suite. */
import { describe, expect, it } from '@jest/globals'
import type { RevocationKey, Revocations } from '../../lambdas/ports/rows/revocations.ts'

export type RevocationsUnderTest = {
  /** Each time as another process would open it; what was opened is closed at the end. */
  readonly open: () => Promise<Revocations>
  /** What time all of them have from now on. */
  readonly setTime: (now: number) => void
  /** Marks there is room taken for, or undefined where the engine frees it by itself. */
  readonly taken: () => Promise<number | undefined>
}

const T = Date.UTC(2026, 0, 1)
const STRANGE = ['', '#', 'ä💊', '\ud800', '\u0000', '__proto__', "' OR 1=1 --", '%', 'x'.repeat(8_000)]

export function revocationsContract(name: string, create: () => Promise<RevocationsUnderTest>): void {
  const opened = async () => {
    const under = await create()
    under.setTime(T)
    return { ...under, here: await under.open(), there: await under.open() }
  }

  describe(`${name}: revocations`, () => {
    it('are visible at once, everywhere, for each requested key', async () => {
      const { here, there } = await opened()
      expect(await there.revoked(['jti:a', 'sid:a', 'client:a', 'user:a'])).toEqual(new Map())
      await here.revoke({ mark: 'sid:a', before: T - 5, until: T + 10 })
      await here.revoke({ mark: 'user:a', before: T - 6, until: T + 10 })
      await here.revoke({ mark: 'user:b', before: T, until: T + 10 })
      for (const side of [here, there])
        expect(await side.revoked(['jti:a', 'sid:a', 'client:a', 'user:a', 'sid:a'])).toEqual(
          new Map<RevocationKey, number>([
            ['sid:a', T - 5],
            ['user:a', T - 6],
          ]),
        )
      expect(await there.revoked(['jti:a'])).toEqual(new Map())
      expect(await there.revoked(['sid:a'])).toEqual(new Map([['sid:a', T - 5]]))
      expect(await there.revoked([])).toEqual(new Map())
    })

    it('keep the later instants of one key, in any order', async () => {
      const { here, there, setTime } = await opened()
      await here.revoke({ mark: 'client:a', before: T + 2, until: T + 10 })
      await there.revoke({ mark: 'client:a', before: T + 1, until: T + 20 })
      expect(await here.revoked(['client:a'])).toEqual(new Map([['client:a', T + 2]]))
      await there.revoke({ mark: 'client:a', before: T + 3, until: T + 5 })
      expect(await here.revoked(['client:a'])).toEqual(new Map([['client:a', T + 3]]))
      setTime(T + 19)
      expect(await here.revoked(['client:a'])).toEqual(new Map([['client:a', T + 3]]))
    })

    it('keep the latest instant of concurrent ones', async () => {
      const { here, there } = await opened()
      const instants = Array.from({ length: 12 }, (_, i) => T + ((i * 7) % 12))
      await Promise.all(
        instants.map((before, i) => (i % 2 === 0 ? here : there).revoke({ mark: 'user:a', before, until: T + 10_000 - before + T })),
      )
      expect(await here.revoked(['user:a'])).toEqual(new Map([['user:a', T + 11]]))
    })

    it('expire when no token can carry their key any more', async () => {
      const { here, there, setTime } = await opened()
      await here.revoke({ mark: 'jti:a', before: T, until: T + 1_000 })
      setTime(T + 999)
      expect(await there.revoked(['jti:a'])).toEqual(new Map([['jti:a', T]]))
      setTime(T + 1_000)
      expect(await there.revoked(['jti:a', 'jti:b'])).toEqual(new Map())
      await there.revoke({ mark: 'jti:a', before: T + 1_000, until: T + 2_000 })
      expect(await here.revoked(['jti:a'])).toEqual(new Map([['jti:a', T + 1_000]]))
    })

    it('apply to one key, whatever its text', async () => {
      const { here, there } = await opened()
      const marks = ['jti:a', 'jti:A', 'sid:a', 'jti:a ', ...STRANGE.map((text) => `jti:${text}` as const)] as const
      for (const [i, mark] of marks.entries()) await here.revoke({ mark, before: T + i, until: T + 1_000 })
      expect(await there.revoked(marks)).toEqual(new Map(marks.map((mark, i) => [mark, T + i])))
      expect(await there.revoked(STRANGE.map((text) => `sid:${text}` as const))).toEqual(new Map())
    })

    it('are returned for many keys at once', async () => {
      const { here, there } = await opened()
      const marks = Array.from({ length: 130 }, (_, i) => `jti:${i}` as const)
      await Promise.all(marks.slice(0, 120).map((mark) => here.revoke({ mark, before: T, until: T + 1 })))
      expect((await there.revoked(marks)).size).toBe(120)
    })

    it('are swept once they have expired, and no others', async () => {
      const { here, there, setTime, taken } = await opened()
      for (let i = 0; i < 20; i++) await here.revoke({ mark: `jti:${i}`, before: T, until: T + (i < 15 ? 1 : 100) })
      setTime(T + 1)
      await there.sweep()
      expect([5, undefined]).toContain(await taken())
      expect((await here.revoked(Array.from({ length: 20 }, (_, i) => `jti:${i}` as const))).size).toBe(5)
    })
  })
}
