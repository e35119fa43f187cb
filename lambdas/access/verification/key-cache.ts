/** The public keys of an issuer, held so that nobody waits for them, and read again so that new ones are known and removed ones forgotten. */
import { createPublicKey } from 'node:crypto'
import type { Jwk } from 'aws-jwt-verify/jwk'
import { Unavailable } from '../../ports/faults/unavailable.ts'

export type CachedKey = Jwk & { readonly kid: string }

export type KeySource = {
  /** Of what it gives, what cannot verify a signature is passed over. `maxAge`: milliseconds they may be held by whom `all` gives them; absent: as long as it takes. */
  readonly read: () => Promise<{ readonly keys: readonly unknown[]; readonly maxAge?: number }>
  readonly now: () => number
  /** Milliseconds after which they are read again. */
  readonly fresh: number
  /** Told when they cannot be read any more, once until they can. */
  readonly report: (error: unknown) => void
}

/** Milliseconds between two readings for keys nobody has heard of, and after one that failed. */
const PAUSE = 10_000
const PAUSE_AFTER_FAILURE = 1_000
const MOST_KEYS = 100

/** Milliseconds since 1970, and how many. A clock that was set back has left it. */
type Span = { readonly from: number; readonly for: number }

const isIn = (span: Span, now: number): boolean => now >= span.from && now < span.from + span.for

export class KeyCache {
  /** Rises whenever they are others: what was verified before is verified anew. 0: none were ever read. */
  generation = 0
  keys: readonly CachedKey[] = []
  readonly #source: KeySource
  /** When they were read, and for how long they are fresh, and may be held. */
  #read: Span = { from: Number.NEGATIVE_INFINITY, for: 0 }
  #held: Span = this.#read
  /** For how long they are not read again. */
  #pause: Span = this.#read
  #reading: Promise<void> | undefined
  #isFailing = false

  constructor(source: KeySource) {
    this.#source = source
  }

  /** With each request: what is old is read again, and nobody waits for it, but who comes after a time when nobody asked. */
  refresh(now: number): Promise<void> | undefined {
    if (this.generation === 0 || isIn(this.#read, now)) return undefined
    if (!isIn(this.#pause, now)) void this.#readAgain(now)
    const isOld = !isIn({ ...this.#read, for: 2 * this.#read.for }, now)
    return isOld && !this.#isFailing ? this.#reading : undefined
  }

  /** Reads again for one that is not known. One that is known goes on counting while they cannot be had. Unavailable as `all`. */
  async find(kid: string): Promise<CachedKey | undefined> {
    const isMeant = (key: CachedKey): boolean => key.kid === kid
    return this.keys.find(isMeant) ?? (await this.all(true)).find(isMeant)
  }

  /** `fresh`: read again, where that was not done just now. Unavailable where none could ever be read, or those that were may be held no longer. */
  async all(fresh: boolean): Promise<readonly CachedKey[]> {
    const now = this.#source.now()
    if (fresh || !isIn(this.#held, now)) await (isIn(this.#pause, now) ? this.#reading : this.#readAgain(now))
    else void this.refresh(now)
    // guard: outdated-keys-are-not-used
    if (!isIn(this.#held, now)) throw new Unavailable('the keys of an issuer cannot be read')
    return this.keys
  }

  #readAgain(now: number): Promise<void> {
    this.#reading ??= this.#take(now).finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  async #take(now: number): Promise<void> {
    this.#pause = { from: now, for: PAUSE }
    try {
      const { keys: given, maxAge = Number.POSITIVE_INFINITY } = await this.#source.read()
      const keys = given.slice(0, MOST_KEYS).filter(isUsable)
      // Shorter than the pause would be a fetch with each request.
      this.#held = { from: now, for: Math.max(maxAge, PAUSE) }
      this.#read = { from: now, for: Math.min(this.#source.fresh, this.#held.for) }
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

/** Bits of the modulus. https://www.rfc-editor.org/rfc/rfc7518#section-3.3 */
const SHORTEST_RSA = 2_048

/** https://www.rfc-editor.org/rfc/rfc7517#section-4 */
function isUsable(key: unknown): key is CachedKey {
  const { kty, kid, use = 'sig' } = (key ?? {}) as Partial<Jwk>
  if (typeof kid !== 'string' || use !== 'sig' || !['RSA', 'EC', 'OKP'].includes(kty as string)) return false
  try {
    const made = createPublicKey({ key: key as never, format: 'jwk' })
    // guard: rsa-key-length
    return made.type === 'public' && (kty !== 'RSA' || made.asymmetricKeyDetails!.modulusLength! >= SHORTEST_RSA)
  } catch {
    return false
  }
}
