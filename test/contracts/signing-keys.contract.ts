/** What lambdas/ports/security/signing-keys.ts promises, as tests: every adapter runs this suite. */
import { createPublicKey, verify } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { calculateJwkThumbprint, compactVerify, importJWK } from 'jose'
import type { SigningKey, SigningKeys } from '../../lambdas/ports/security/signing-keys.ts'

export type SigningKeysUnderTest = {
  /** Each time as another process would open it. */
  readonly open: () => Promise<SigningKeys>
}

const T = Date.UTC(2026, 0, 1)
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

export const isSignedWith = ({ key }: SigningKey, data: Uint8Array, signature: Uint8Array): boolean =>
  verify('RSA-SHA256', data, createPublicKey({ key: { ...key }, format: 'jwk' }), signature)

export function signingKeysContract(name: string, create: () => Promise<SigningKeysUnderTest>): void {
  const opened = async () => {
    const { open } = await create()
    return [await open(), await open()] as const
  }

  describe(`${name}: signing keys`, () => {
    it('are RSA keys of 2,048 bits, named by thumbprint, without private parts', async () => {
      const [here, there] = await opened()
      expect(await here.list()).toEqual([])
      const made = await here.make(T)
      expect(await there.list()).toEqual([made])
      expect(made).toEqual({
        key: { kty: 'RSA', n: expect.any(String), e: 'AQAB', alg: 'RS256', use: 'sig', kid: expect.any(String) },
        madeAt: T,
      })
      expect(made.key.kid).toBe(await calculateJwkThumbprint({ ...made.key }, 'sha256'))
      expect(createPublicKey({ key: { ...made.key }, format: 'jwk' }).asymmetricKeyDetails?.modulusLength).toBe(2_048)
    })

    it('sign data of any length, whichever server created them', async () => {
      const [here, there] = await opened()
      const [first, second] = [await here.make(T), await there.make(T + 1)]
      for (const text of ['', 'a', 'x'.repeat(5_000)])
        for (const side of [here, there]) {
          const signature = await side.sign(first.key.kid, bytes(text))
          expect([isSignedWith(first, bytes(text), signature), isSignedWith(second, bytes(text), signature)]).toEqual([true, false])
          expect(isSignedWith(first, bytes(`${text}!`), signature)).toBe(false)
        }
      const input = `${Buffer.from(JSON.stringify({ alg: 'RS256', kid: second.key.kid })).toString('base64url')}.${Buffer.from('{}').toString('base64url')}`
      const token = `${input}.${Buffer.from(await here.sign(second.key.kid, bytes(input))).toString('base64url')}`
      expect((await compactVerify(token, await importJWK({ ...second.key }))).protectedHeader.kid).toBe(second.key.kid)
    })

    it('are listed oldest first, including concurrent ones', async () => {
      const [here, there] = await opened()
      const made = await Promise.all([T + 3, T + 1, T + 2, T + 1].map((at, i) => (i % 2 === 0 ? here : there).make(at)))
      const ordered = made.toSorted((a, b) => a.madeAt - b.madeAt || (a.key.kid < b.key.kid ? -1 : 1))
      for (const side of [here, there]) expect(await side.list()).toEqual(ordered)
      expect(new Set(made.map(({ key }) => key.kid)).size).toBe(4)
    })

    it('are retired at the instant of the last call, and still sign', async () => {
      const [here, there] = await opened()
      const [first, second] = [await here.make(T), await here.make(T + 1)]
      await there.retire(first.key.kid, T + 100)
      expect(await here.list()).toEqual([{ ...first, retiredAt: T + 100 }, second])
      await here.retire(first.key.kid, T + 50)
      expect(await there.list()).toEqual([{ ...first, retiredAt: T + 50 }, second])
      expect(isSignedWith(first, bytes('a'), await there.sign(first.key.kid, bytes('a')))).toBe(true)
    })

    it('survive a concurrent retirement and creation', async () => {
      const [here, there] = await opened()
      const first = await here.make(T)
      const [second] = await Promise.all([there.make(T + 1), here.retire(first.key.kid, T + 2), there.retire(first.key.kid, T + 2)])
      expect(await here.list()).toEqual([{ ...first, retiredAt: T + 2 }, second])
    })

    it('are gone everywhere after removal, and sign nothing', async () => {
      const [here, there] = await opened()
      const [first, second] = [await here.make(T), await here.make(T + 1)]
      await there.sign(first.key.kid, bytes('a'))
      await here.remove(first.key.kid)
      expect(await there.list()).toEqual([second])
      for (const side of [here, there]) await expect(side.sign(first.key.kid, bytes('a'))).rejects.toThrow()
      await there.remove(first.key.kid)
      await there.retire(first.key.kid, T)
      expect(await here.list()).toEqual([second])
    })

    it('are not found by malformed or unknown ids', async () => {
      const [here] = await opened()
      const made = await here.make(T)
      for (const kid of ['', '.', '..', '../key', '__proto__', 'a'.repeat(43), '\u0000', 'x'.repeat(5_000)]) {
        await expect(here.sign(kid, bytes('a'))).rejects.toThrow()
        await here.retire(kid, T)
        await here.remove(kid)
      }
      expect(await here.list()).toEqual([made])
    })
  })
}
