/** Rotations of the signing keys: a clock that is walked through them minute by minute finds no token refused, and no minute without a key. */
import { describe, expect, it } from '@jest/globals'
import {
  KEY_DISCOVERY_MS,
  maintainKeys,
  publishedKeysAt,
  rotateSigningKeys,
  signingKeyAt,
} from '../../../lambdas/auth/tokens/key-rotation.ts'
import type { SigningKeys } from '../../../lambdas/ports/security/signing-keys.ts'
import { isSignedWith } from '../../contracts/signing-keys.contract.ts'
import { MemorySigningKeys } from '../../fixtures/memory/signing-keys.ts'

const T = Date.UTC(2026, 0, 1)
const MINUTE = 60_000
const TOKEN = 60
const OLDEST_COPY = 10

type Event = 'rotate' | 'rotate now' | 'killed rotation' | 'two rotations'

/** A rotation that ends after the key was made. */
const killed = (keys: SigningKeys): SigningKeys =>
  new Proxy(keys, {
    get(target, name) {
      if (name === 'retire') return () => Promise.reject(new Error('killed'))
      return Reflect.get(target, name).bind(target)
    },
  })

const EVENTS: Readonly<Record<Event, (keys: SigningKeys, now: number) => Promise<unknown>>> = {
  rotate: (keys, now) => rotateSigningKeys(keys, now),
  'rotate now': (keys, now) => rotateSigningKeys(keys, now, KEY_DISCOVERY_MS),
  'killed rotation': (keys, now) => rotateSigningKeys(killed(keys), now).catch(() => undefined),
  'two rotations': (keys, now) => Promise.all([rotateSigningKeys(keys, now), rotateSigningKeys(keys, now)]),
}

type Minute = { readonly signedWith: string | undefined; readonly published: ReadonlySet<string> }

/** What happens in each minute; the server tends its keys when it starts and every hour. */
async function walked(events: Readonly<Record<number, Event>>, minutes: number, keys: SigningKeys = new MemorySigningKeys()) {
  const walk: Minute[] = []
  for (let minute = 0; minute < minutes; minute++) {
    const now = T + minute * MINUTE
    if (minute % 60 === 0) await maintainKeys(keys, now)
    const event = events[minute]
    if (event !== undefined) await EVENTS[event](keys, now)
    const known = await keys.list()
    walk.push({ signedWith: signingKeyAt(known, now)?.key.kid, published: new Set(publishedKeysAt(known, now).map(({ key }) => key.kid)) })
  }
  return { keys, walk }
}

/** Tokens of which minute somebody refuses while they live, whose copy of the published keys is so many minutes old. */
const refused = (walk: readonly Minute[], oldest: number): readonly string[] =>
  walk.flatMap(({ signedWith }, signed) => {
    const found: string[] = []
    for (let at = signed; at <= Math.min(signed + TOKEN, walk.length - 1); at++)
      for (let age = 0; age <= Math.min(oldest, at); age++)
        if (!walk[at - age]!.published.has(signedWith!)) found.push(`signed in ${signed}, refused in ${at} by a copy of ${at - age}`)
    return found
  })

const usedIn = (walk: readonly Minute[]): readonly (readonly [minute: number, kid: string | undefined])[] =>
  walk.flatMap(({ signedWith }, minute) => (walk[minute - 1]?.signedWith === signedWith ? [] : [[minute, signedWith] as const]))

describe('Rotations of the signing keys', () => {
  it('invalidate no token for key copies up to ten minutes old', async () => {
    const { keys, walk } = await walked(
      { 1: 'rotate', 95: 'rotate', 97: 'rotate', 300: 'killed rotation', 330: 'rotate', 470: 'two rotations', 800: 'killed rotation' },
      1_000,
    )
    expect(walk.filter(({ signedWith }) => signedWith === undefined)).toEqual([])
    expect(refused(walk, OLDEST_COPY)).toEqual([])
    // Each takes over ten minutes after it was made: in a race one of the two.
    expect(usedIn(walk).map(([minute]) => minute)).toEqual([0, 11, 105, 107, 310, 340, 480, 810])
    expect((await keys.list()).length).toBeLessThanOrEqual(2)
  })

  it('invalidate no token for verifiers that fetch unknown keys, even within seconds', async () => {
    const { walk } = await walked({ 5: 'rotate now', 30: 'rotate', 33: 'rotate now', 34: 'rotate', 200: 'rotate now' }, 400)
    expect(refused(walk, 0)).toEqual([])
    expect(usedIn(walk).map(([minute]) => minute)).toEqual([0, 6, 34, 44, 201])
  })

  it('invalidate tokens for older copies within seconds, which shows the check can fail', async () => {
    const { walk } = await walked({ 100: 'rotate now' }, 200)
    expect(refused(walk, OLDEST_COPY).length).toBeGreaterThan(0)
  })

  it('remove each key once no token needs it, and no earlier', async () => {
    const { keys, walk } = await walked({ 20: 'rotate', 200: 'killed rotation' }, 400)
    const counts = walk.map(({ published }) => published.size)
    expect([counts[19], counts[20], counts[30 + 60], counts[30 + 61], counts[200], counts[399]]).toEqual([1, 2, 2, 1, 2, 1])
    expect(await keys.list()).toHaveLength(1)
  })

  it('work if the previous key was created by a wrong clock', async () => {
    const keys = new MemorySigningKeys()
    const year = 365 * 24 * 60 * MINUTE
    const future = await keys.make(T + year)
    expect(signingKeyAt(await keys.list(), T)).toEqual(future)
    const made = await rotateSigningKeys(keys, T)
    expect(signingKeyAt(await keys.list(), T + 9 * MINUTE)?.key).toEqual(future.key)
    expect(signingKeyAt(await keys.list(), T + 10 * MINUTE)).toEqual(made)
    await maintainKeys(keys, T + 100 * MINUTE)
    expect(await keys.list()).toEqual([made])
  })
})

describe('The first key', () => {
  it('is valid at once, and created only once', async () => {
    const keys = new MemorySigningKeys()
    expect([signingKeyAt(await keys.list(), T), publishedKeysAt(await keys.list(), T)]).toEqual([undefined, []])
    for (let i = 0; i < 3; i++) await maintainKeys(keys, T + i)
    const [only, ...others] = await keys.list()
    expect([signingKeyAt([only!], T), others]).toEqual([only, []])
    const data = Buffer.from('a')
    expect(isSignedWith(only!, data, await keys.sign(only!.key.kid, data))).toBe(true)
  })

  it('is one of several after concurrent starts, and all servers use the same', async () => {
    const keys = new MemorySigningKeys()
    await Promise.all([T + 1, T, T].map((at) => maintainKeys(keys, at)))
    const known = await keys.list()
    expect(known).toHaveLength(3)
    const { walk } = await walked({}, 400, keys)
    expect(walk.filter(({ signedWith }) => signedWith === undefined)).toEqual([])
    expect(refused(walk, OLDEST_COPY)).toEqual([])
    expect(await keys.list()).toHaveLength(1)
  })
})
