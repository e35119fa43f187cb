/**
 * Schedule of the signing keys, so that a rotation invalidates no token. A new key is published at once. It signs only when every cached
 * copy of the published keys contains it. A previous key stays published until the last token that it signed has expired.
 */
import type { Clock } from '../../ports/execution/clock.ts'
import { compareKeyAges, type PublishedKeys, type SigningKey, type SigningKeys } from '../../ports/security/signing-keys.ts'
import { MAX_ACCESS_TOKEN_SECONDS } from './lifetimes.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND

/** Maximum age of a cached copy of the published keys, in milliseconds. */
export const KEY_COPY_LIFETIME_MS = 10 * MINUTE
/**
 * Time in which the verifiers of this server find a new key, in milliseconds. They read the keys again for an unknown key, at most every
 * ten seconds.
 */
export const KEY_DISCOVERY_MS = 15 * SECOND
/**
 * Margin in milliseconds for which a retired key stays published longer: clocks of signers differ, and signers cache the list of keys for
 * up to this time.
 */
const SLACK = MINUTE

/** Returns the keys to publish: those that still sign, will sign, or may have signed a token that has not expired. */
// guard: retired-key-published-while-tokens-live
export const publishedKeysAt = (keys: readonly SigningKey[], now: number): readonly SigningKey[] =>
  keys.filter(({ retiredAt }) => retiredAt === undefined || now < retiredAt + MAX_ACCESS_TOKEN_SECONDS * SECOND + SLACK)

/**
 * Returns a view of the keys that lists only those to publish. Verifiers use it, so that a token is rejected if its key is stored but no
 * longer published.
 */
export const publishedKeysOf = (keys: PublishedKeys, clock: Pick<Clock, 'now'>): PublishedKeys => ({
  list: async () => publishedKeysAt(await keys.list(), clock.now()),
})

/**
 * Returns the key to sign with: the newest one that every cached copy of the published keys contains. If no key is old enough, returns the
 * oldest one with a planned retirement, or else the oldest. Returns undefined if there is none.
 */
export function signingKeyAt(keys: readonly SigningKey[], now: number): SigningKey | undefined {
  const usable = keys.filter(({ retiredAt }) => retiredAt === undefined || now < retiredAt).toSorted(compareKeyAges)
  return (
    usable.findLast(({ madeAt }) => madeAt + KEY_COPY_LIFETIME_MS <= now) ??
    usable.find(({ retiredAt }) => retiredAt !== undefined) ??
    usable[0]
  )
}

/**
 * Creates a key that replaces all others after `patience` milliseconds. With the default every cached copy of the published keys then
 * contains it. With KEY_DISCOVERY_MS only the verifiers of this server do: other holders of older copies cannot verify the next tokens yet.
 * If rotations run concurrently, the newest key remains.
 */
export async function rotateSigningKeys(keys: SigningKeys, now: number, patience: number = KEY_COPY_LIFETIME_MS): Promise<SigningKey> {
  const known = await keys.list()
  const made = await keys.make(now)
  const at = now + patience
  // Retire only keys listed before this one was made. Otherwise concurrent rotations could retire each other's keys, and none would remain.
  for (const { key, retiredAt } of known) if (retiredAt === undefined || retiredAt > at) await keys.retire(key.kid, at)
  return made
}

/**
 * Maintains the keys, when a server starts and every hour. Creates the first key, completes interrupted rotations and, if `mayRemove`,
 * removes keys that no token needs. `mayRemove`: whether the clock is trusted. Servers that start together may create several first keys;
 * until one is ten minutes old, all servers sign with the oldest.
 */
export async function maintainKeys(keys: SigningKeys, now: number, mayRemove = true): Promise<void> {
  const known = await keys.list()
  if (signingKeyAt(known, now) === undefined) await keys.make(now)
  const published = publishedKeysAt(known, now)
  if (mayRemove) for (const { key } of known.filter((each) => !published.includes(each))) await keys.remove(key.kid)
  for (const [{ key }, next] of supersededOf(published, now)) await keys.retire(key.kid, next.madeAt + KEY_COPY_LIFETIME_MS)
}

/** Returns each key that a newer one replaced without retiring it, with the next newer key. An interrupted rotation leaves such keys. */
function supersededOf(keys: readonly SigningKey[], now: number): readonly (readonly [SigningKey, SigningKey])[] {
  const open = keys.filter(({ retiredAt }) => retiredAt === undefined).toSorted(compareKeyAges)
  const used = open.findLastIndex(({ madeAt }) => madeAt + KEY_COPY_LIFETIME_MS <= now)
  return open.slice(0, Math.max(0, used)).map((key, i) => [key, open[i + 1]!])
}
