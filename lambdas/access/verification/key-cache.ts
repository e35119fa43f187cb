/** Cached public keys of one issuer. Regular reads in the background find new keys and drop removed ones, so requests seldom wait. */
import { createPublicKey } from 'node:crypto'
import type { Jwk } from 'aws-jwt-verify/jwk'
import { MachineFault } from '../../ports/faults.ts'

export type CachedKey = Jwk & { readonly kid: string }

export type KeySource = {
  /**
   * Reads the keys. The cache drops entries that cannot verify a signature. `maxAge`: milliseconds for which `all` may return the keys, at
   * least ten seconds; absent: no limit.
   */
  readonly read: () => Promise<{ readonly keys: readonly unknown[]; readonly maxAge?: number }>
  readonly now: () => number
  /** Age in milliseconds at which keys are outdated: the next request starts a read. */
  readonly fresh: number
  /** Receives the error of the first failed read. Further failures are reported only after a successful read. */
  readonly report: (error: unknown) => void
}

/** Minimum milliseconds from the start of a read to the next one. It limits the reads that tokens with unknown keys cause. */
const PAUSE = 10_000
/** Minimum milliseconds from the start of a failed read of the keys to the next read. */
const PAUSE_AFTER_FAILURE = 1_000
const MAX_KEYS = 100

/**
 * Time span: start in milliseconds since 1970, and length in milliseconds. Times before the start are outside, as after a clock was set
 * back.
 */
type Span = { readonly from: number; readonly for: number }

const isIn = (span: Span, now: number): boolean => now >= span.from && now < span.from + span.for

export class KeyCache {
  /** Increases when the keys change, so that cached tokens are verified again. 0: no read has succeeded yet. */
  generation = 0
  keys: readonly CachedKey[] = []
  readonly #source: KeySource
  /** Span after the last successful read in which the keys are not outdated. */
  #read: Span = { from: Number.NEGATIVE_INFINITY, for: 0 }
  /** Span after the last successful read in which `all` may return the keys. */
  #usable: Span = this.#read
  /** Span in which no read starts, although keys are outdated or not found. */
  #pause: Span = this.#read
  #reading: Promise<void> | undefined
  #isFailing = false

  constructor(source: KeySource) {
    this.#source = source
  }

  /**
   * Starts a read in the background if the keys are outdated. Each request calls it.
   *
   * Returns the read if the request must wait for it: the keys are older than twice `fresh`, as after some time without requests. While
   * reads fail, no request waits. Returns undefined if the keys were never read: `find` then reads them.
   */
  refresh(now: number): Promise<void> | undefined {
    if (this.generation === 0 || isIn(this.#read, now)) return undefined
    if (!isIn(this.#pause, now)) void this.#readAgain(now)
    const isOld = !isIn({ ...this.#read, for: 2 * this.#read.for }, now)
    return isOld && !this.#isFailing ? this.#reading : undefined
  }

  /**
   * Returns a key, or undefined if the issuer has none with this id. Reads the keys again if it is not cached, and then throws as `all`
   * does. A cached key is returned without a time limit while reads fail.
   */
  async find(kid: string): Promise<CachedKey | undefined> {
    const hasId = (key: CachedKey): boolean => key.kid === kid
    return this.keys.find(hasId) ?? (await this.all(true)).find(hasId)
  }

  /**
   * Returns all keys. `fresh`: reads them first, unless a pause between reads has not ended. Throws the fault `unavailable` if the keys
   * were never read, or if their `maxAge` has passed and they cannot be read again.
   */
  async all(fresh: boolean): Promise<readonly CachedKey[]> {
    const now = this.#source.now()
    if (fresh || !isIn(this.#usable, now)) await (isIn(this.#pause, now) ? this.#reading : this.#readAgain(now))
    else void this.refresh(now)
    // guard: outdated-keys-are-not-used
    if (!isIn(this.#usable, now)) throw new MachineFault('unavailable', 'the keys of an issuer cannot be read')
    return this.keys
  }

  #readAgain(now: number): Promise<void> {
    this.#reading ??= this.#update(now).finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  async #update(now: number): Promise<void> {
    this.#pause = { from: now, for: PAUSE }
    try {
      const { keys: all, maxAge = Number.POSITIVE_INFINITY } = await this.#source.read()
      const keys = all.slice(0, MAX_KEYS).filter(isUsable)
      // Keys stay usable for at least the pause. Otherwise `all` would throw until the next read may start.
      this.#usable = { from: now, for: Math.max(maxAge, PAUSE) }
      this.#read = { from: now, for: Math.min(this.#source.fresh, this.#usable.for) }
      this.#isFailing = false
      if (this.generation > 0 && JSON.stringify(keys) === JSON.stringify(this.keys)) return
      this.keys = keys
      this.generation++
    } catch (error) {
      this.#pause = { from: now, for: PAUSE_AFTER_FAILURE }
      if (!this.#isFailing) this.#source.report(error)
      this.#isFailing = true
    }
  }
}

/** Minimum length of the modulus of RSA keys, in bits. Shorter keys are dropped. https://www.rfc-editor.org/rfc/rfc7518#section-3.3 */
const SHORTEST_RSA = 2_048

/**
 * Whether the entry of a key set is a public key that can verify signatures. RSA keys must be long enough.
 * https://www.rfc-editor.org/rfc/rfc7517#section-4
 */
function isUsable(key: unknown): key is CachedKey {
  const { kty, kid, use = 'sig' } = (key ?? {}) as Partial<Jwk>
  if (typeof kid !== 'string' || use !== 'sig' || !['RSA', 'EC', 'OKP'].includes(kty as string)) return false
  try {
    const publicKey = createPublicKey({ key: key as never, format: 'jwk' })
    // guard: rsa-key-length
    return publicKey.type === 'public' && (kty !== 'RSA' || publicKey.asymmetricKeyDetails!.modulusLength! >= SHORTEST_RSA)
  } catch {
    return false
  }
}
