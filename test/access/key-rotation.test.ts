/** Tokens of our own while their keys are rotated: none is refused before it expires, and by an old key nothing is proved for longer. */
import { beforeEach, expect, it } from '@jest/globals'
import { maintainKeys, publishedKeysOf, rotateSigningKeys } from '../../lambdas/auth/tokens/key-rotation.ts'
import { signToken } from '../../lambdas/auth/tokens/signed-token.ts'
import { MemorySigningKeys } from '../fixtures/memory/signing-keys.ts'
import { createTestIssuer, SECOND_MS, settleBackgroundReads, type TestIssuer } from './issuing.ts'

const MINUTE = 60 * SECOND_MS
const HOUR = 60 * MINUTE

let site: TestIssuer
let keys: MemorySigningKeys
const clock = { now: () => site.now, newId: () => 'id' }
const issue = () => signToken({ keys, clock }, site.claims({ exp: (site.now + HOUR) / SECOND_MS }))

beforeEach(async () => {
  keys = new MemorySigningKeys()
  site = createTestIssuer({ keys: publishedKeysOf(keys, clock) })
  await maintainKeys(keys, site.now)
})

it('every token is valid until it expires, despite rotations', async () => {
  const signers = new Set<string>()
  let live: { readonly token: string; readonly until: number }[] = []
  for (let minute = 0; minute < 240; minute += 2, site.now += 2 * MINUTE) {
    if (minute % 60 === 0) await maintainKeys(keys, site.now)
    if (minute === 20 || minute === 26 || minute === 130) await rotateSigningKeys(keys, site.now)
    const token = await issue()
    signers.add(token.split('.')[0]!)
    live = [...live, { token, until: site.now + HOUR }].filter(({ until }) => until > site.now)
    for (const each of live) expect(await site.verifyToken(each.token)).toMatchObject({ client: 'app' })
    await settleBackgroundReads()
  }
  expect(signers.size).toBeGreaterThan(2)
  expect(live).toHaveLength(30)
})

it('a token with a distant expiry is valid only while its key is published', async () => {
  const forged = await signToken({ keys, clock }, site.claims({ exp: site.now / SECOND_MS + 1e9 }))
  expect(await site.verifyToken(forged)).toMatchObject({ client: 'app' })
  await rotateSigningKeys(keys, site.now, 0)
  site.now += HOUR + MINUTE - 1
  expect(await site.verifyToken(forged)).toMatchObject({ client: 'app' })
  await settleBackgroundReads()
  // Nobody tends the keys: the old one is still kept.
  site.now += 10 * SECOND_MS
  await site.verifyToken(await issue())
  await settleBackgroundReads()
  await expect(site.verifyToken(forged)).rejects.toMatchObject({ status: 401 })
  expect((await keys.list()).length).toBe(2)
})
