/**
 * When tokens are signed with a key, and until when it is published, so that a rotation refuses no token: a new key is published at once and
 * used once every copy of the published ones has it; an old one stays published until the last token signed with it has expired.
 */
import type { Clock } from '../../ports/execution/clock.ts'
import { compareKeyAges, type PublishedKeys, type SigningKey, type SigningKeys } from '../../ports/security/signing-keys.ts'
import { MAX_ACCESS_TOKEN_SECONDS } from './lifetimes.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND

/** Milliseconds: no copy of the published keys is older. */
export const KEY_COPY_LIFETIME_MS = 10 * MINUTE
/** Milliseconds: our own verifiers look for a key they do not know, but not more often than every ten seconds. */
export const KEY_DISCOVERY_MS = 15 * SECOND
/** Milliseconds by which clocks of signers differ, and for which they remember the list of keys. */
const SLACK = MINUTE

/** Those a token may have been signed with, or soon will be. */
// guard: retired-key-published-while-tokens-live
export const publishedKeysAt = (keys: readonly SigningKey[], now: number): readonly SigningKey[] =>
  keys.filter(({ retiredAt }) => retiredAt === undefined || now < retiredAt + MAX_ACCESS_TOKEN_SECONDS * SECOND + SLACK)

/** What functions that verify are given: by a key that is not published any more nothing is proved, whether it was removed or not. */
export const publishedKeysOf = (keys: PublishedKeys, clock: Pick<Clock, 'now'>): PublishedKeys => ({
  list: async () => publishedKeysAt(await keys.list(), clock.now()),
})

/**
 * The one to sign with: the newest that every copy of the published keys has. Where none is that old: the one that is about to retire, else the
 * oldest. undefined: there is none.
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
 * Makes a key that takes over from all others: when every copy of the published ones has it, or as soon as our own verifiers find it, which
 * who holds an older copy sees as tokens of an unknown key. Of racing rotations the last key stays.
 */
export async function rotateSigningKeys(keys: SigningKeys, now: number, patience: number = KEY_COPY_LIFETIME_MS): Promise<SigningKey> {
  const known = await keys.list()
  const made = await keys.make(now)
  const at = now + patience
  // One that came after `known` may be that of another rotation: were it retired as well, each might retire the other's.
  for (const { key, retiredAt } of known) if (retiredAt === undefined || retiredAt > at) await keys.retire(key.kid, at)
  return made
}

/**
 * What a server does when it starts and every hour: makes the first key, ends rotations that were not ended, removes what no token needs.
 * Servers that make the first at once make several, of which all use the oldest. `mayRemove`: whether the clock can be believed.
 */
export async function maintainKeys(keys: SigningKeys, now: number, mayRemove = true): Promise<void> {
  const known = await keys.list()
  if (signingKeyAt(known, now) === undefined) await keys.make(now)
  const published = publishedKeysAt(known, now)
  if (mayRemove) for (const { key } of known.filter((each) => !published.includes(each))) await keys.remove(key.kid)
  for (const [{ key }, next] of supersededOf(published, now)) await keys.retire(key.kid, next.madeAt + KEY_COPY_LIFETIME_MS)
}

/** With what has taken their place: a rotation that was killed had not retired them. */
function supersededOf(keys: readonly SigningKey[], now: number): readonly (readonly [SigningKey, SigningKey])[] {
  const open = keys.filter(({ retiredAt }) => retiredAt === undefined).toSorted(compareKeyAges)
  const used = open.findLastIndex(({ madeAt }) => madeAt + KEY_COPY_LIFETIME_MS <= now)
  return open.slice(0, Math.max(0, used)).map((key, i) => [key, open[i + 1]!])
}
