/** Keys that a client publishes are held as long as it says: what Inferno has a person attest (jwks caching). */
import { beforeEach, expect, it } from '@jest/globals'
import { jwksCache } from '../../../lambdas/access/verification/jwks-cache.ts'
import { assertionFormOf, createKeyPair, type KeyPair, signAssertion } from '../assertions.ts'
import { createAuthorization, type TestAuthorization } from '../authorization.ts'

const URI = 'https://app.example/jwks'
const [first, second] = await Promise.all([createKeyPair('ES384', 'first'), createKeyPair('ES384', 'second')])

let auth: TestAuthorization
/** What the client publishes, how long that may be kept, and how often it was fetched. */
let published: { keys: readonly KeyPair[]; maxAge?: number; isBroken?: boolean }
let fetches: number

beforeEach(async () => {
  fetches = 0
  published = { keys: [first] }
  const now = (): number => auth.now()
  const keySource = jwksCache({
    async fetchDocument() {
      fetches++
      const { keys, maxAge, isBroken } = published
      if (isBroken) throw new Error('not there')
      const bytes = Buffer.from(JSON.stringify({ keys: keys.map(({ jwk }) => jwk) }))
      return { bytes, ...(maxAge === undefined ? {} : { maxAge }) }
    },
    clock: { now },
    report: () => undefined,
  })
  auth = await createAuthorization({ keySource })
  await auth.addClient('app', { authentication: { kind: 'uri', uri: URI } })
})

async function tokenBy(key: KeyPair): Promise<number> {
  return (await auth.ask('POST', '/auth/token', { form: assertionFormOf(signAssertion(key, 'app', auth.now())) })).status
}

it('cached keys expire with their max-age, and a removed key is then rejected', async () => {
  published = { keys: [first], maxAge: 60_000 }
  expect(await tokenBy(first)).toBe(200)
  published = { keys: [second], maxAge: 60_000 }
  auth.later(59_999)
  expect([await tokenBy(first), fetches]).toEqual([200, 1])
  auth.later(1)
  expect([await tokenBy(first), await tokenBy(second), fetches]).toEqual([401, 200, 2])
})

it('cached keys expire after max-age even if unreachable, and after at most five minutes', async () => {
  published = { keys: [first], maxAge: 60_000 }
  expect(await tokenBy(first)).toBe(200)
  published = { ...published, isBroken: true }
  auth.later(60_000)
  expect(await tokenBy(first)).toBe(503)
  published = { keys: [first], maxAge: 86_400_000 }
  auth.later(1_000)
  expect([await tokenBy(first), fetches]).toEqual([200, 3])
  auth.later(300_000)
  expect([await tokenBy(first), fetches]).toEqual([200, 4])
})

it('cached keys live ten seconds at least, and on without max-age if unreachable', async () => {
  published = { keys: [first], maxAge: 0 }
  for (let i = 0; i < 5; i++) expect(await tokenBy(first)).toBe(200)
  expect(fetches).toBe(1)
  auth.later(10_000)
  published = { keys: [first] }
  expect([await tokenBy(first), fetches]).toEqual([200, 2])
  published = { keys: [first], isBroken: true }
  auth.later(86_400_000)
  expect([await tokenBy(first), fetches]).toEqual([200, 3])
})
