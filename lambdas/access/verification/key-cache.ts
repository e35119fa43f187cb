/** Cached public keys of an issuer. Requests seldom wait for a read. Repeated reads find new keys and drop removed ones. */
import { createPublicKey } from 'node:crypto'
import type { Jwk } from 'aws-jwt-verify/jwk'
import { MachineFault } from '../../ports/faults.ts'

export type CachedKey = Jwk & { readonly kid: string }

export type KeySource = {
  /**
   * Reads the keys. The cache skips entries that cannot verify a signature. `maxAge`: milliseconds for which `all` may return the keys;
   * absent: until the next successful read.
   */
  readonly read: () => Promise<{ readonly keys: readonly unknown[]; readonly maxAge?: number }>
  readonly now: () => number
  /** Milliseconds after which the keys are read again. */
  readonly fresh: number
  /** Receives the error of a failed read, once until a read succeeds. */
  readonly report: (error: unknown) => void
}

/** Minimum milliseconds between two reads, and after a failed read. They limit the reads for unknown keys. */
const PAUSE = 10_000
const PAUSE_AFTER_FAILURE = 1_000
const MAX_KEYS = 100

/** Time span: start in milliseconds since 1970, and length in milliseconds. A clock that was set back before the start is outside. */
type Span = { readonly from: number; readonly for: number }

const isIn = (span: Span, now: number): boolean => now >= span.from && now < span.from + span.for

export class KeyCache {
  /** Increases when the keys change, so that cached tokens are verified again. 0: the keys were never read. */
  generation = 0
  keys: readonly CachedKey[] = []
  readonly #source: KeySource
  /** Spans from the last successful read: while the keys are fresh, and while `all` may return them. */
  #read: Span = { from: Number.NEGATIVE_INFINITY, for: 0 }
  #usable: Span = this.#read
  /** Span in which the keys are not read again. */
  #pause: Span = this.#read
  #reading: Promise<void> | undefined
  #isFailing = false

  constructor(source: KeySource) {
    this.#source = source
  }

  /**
   * Reads outdated keys again in the background. Each request calls it. Returns the read if the request must wait for it. That is
   * the case if the keys are older than twice their fresh time, as after a pause without requests.
   */
  refresh(now: number): Promise<void> | undefined {
    if (this.generation === 0 || isIn(this.#read, now)) return undefined
    if (!isIn(this.#pause, now)) void this.#readAgain(now)
    const isOld = !isIn({ ...this.#read, for: 2 * this.#read.for }, now)
    return isOld && !this.#isFailing ? this.#reading : undefined
  }

  /** Returns a key. Reads the keys again if it is not found. A cached key remains valid while reads fail. Throws as `all` does. */
  async find(kid: string): Promise<CachedKey | undefined> {
    const hasId = (key: CachedKey): boolean => key.kid === kid
    return this.keys.find(hasId) ?? (await this.all(true)).find(hasId)
  }

  /**
   * Returns all keys. `fresh`: reads them again, unless the last read was just now. Throws the fault `unavailable` if the keys were never
   * read, or if their `maxAge` has passed and they cannot be read again.
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
      // A time shorter than the pause would cause a fetch with each request.
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

/** Minimum length of the modulus of RSA keys, in bits. https://www.rfc-editor.org/rfc/rfc7518#section-3.3 */
const SHORTEST_RSA = 2_048

/** Whether the key can verify signatures. https://www.rfc-editor.org/rfc/rfc7517#section-4 */
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
