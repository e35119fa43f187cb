/**
 * Verified tokens, cached by the SHA-256 of their text. While a token is cached, its signature is not verified again. Each entry also
 * caches the result of its latest revocation check.
 */
import { MachineFault } from '../../ports/faults.ts'
import type { RevocationKey, RevocationReader } from '../../ports/rows/revocations.ts'
import { findRevocationKey } from './revocation-check.ts'
import type { ParsedToken } from './token-claims.ts'
import type { TrustedIssuer } from './trusted-issuer.ts'
import type { VerifiedToken } from './verified-token.ts'

/**
 * Maximum characters of all cached tokens, which is enough for thousands. Above it the oldest are dropped. Characters are counted because
 * the memory of an entry grows with its token.
 */
const MAX_CHARACTERS = 6_000_000

/** Whether `at` is less than `lag` milliseconds ago. A time in the future is not recent: the clock was set back. */
const isRecent = (at: number, now: number, lag: number): boolean => now >= at && now < at + lag

export class CachedToken {
  readonly token: ParsedToken
  readonly issuer: TrustedIssuer
  readonly #generation: number
  #revokedBy: RevocationKey | undefined
  #lastIn: VerifiedToken | undefined
  /** Start of the latest check that found no revocation, in milliseconds since 1970. */
  #clearAt = Number.NEGATIVE_INFINITY
  #check: { readonly at: number; readonly done: Promise<void> } | undefined

  constructor(token: ParsedToken, issuer: TrustedIssuer) {
    this.token = token
    this.issuer = issuer
    this.#generation = issuer.generation
  }

  /**
   * Returns the token with a selected tenant. Consecutive calls for one tenant return the same object, because other caches use it as their
   * key. A call for another tenant creates a new object.
   */
  in(tenant: string): VerifiedToken {
    if (this.#lastIn?.tenant !== tenant) this.#lastIn = { ...this.token.facts, tenant }
    return this.#lastIn
  }

  /** Whether the keys of the issuer are unchanged since the token was verified. */
  get isProved(): boolean {
    return this.#generation === this.issuer.generation
  }

  /**
   * Returns the key by which the token is revoked, or undefined. A found revocation stays cached. The result "not revoked" is at most `lag`
   * milliseconds old; 0 checks each time. Throws the fault `unavailable` if the store does not respond.
   */
  revokedBy(revocations: RevocationReader, now: number, lag: number): RevocationKey | undefined | Promise<RevocationKey | undefined> {
    if (this.#revokedBy !== undefined || isRecent(this.#clearAt, now, lag)) return this.#revokedBy
    if (this.#check === undefined || !isRecent(this.#check.at, now, lag))
      this.#check = { at: now, done: this.#checkRevocation(revocations, now) }
    return this.#check.done.then(() => this.#revokedBy)
  }

  async #checkRevocation(revocations: RevocationReader, at: number): Promise<void> {
    try {
      const { revocationKeys, issuedAt } = this.token
      const key = await findRevocationKey(revocations, revocationKeys, issuedAt)
      if (key === undefined) this.#clearAt = at
      else this.#revokedBy = key
    } catch (cause) {
      throw new MachineFault('unavailable', 'revocations cannot be read', { cause })
    } finally {
      if (this.#check?.at === at) this.#check = undefined
    }
  }
}

export class TokenCache {
  readonly #tokens = new Map<string, { readonly token: CachedToken; readonly size: number }>()
  #size = 0

  /** Returns the cached token, or undefined if it is not cached. Drops a token if the keys of its issuer changed since it was verified. */
  find(hash: string): CachedToken | undefined {
    const token = this.#tokens.get(hash)?.token
    if (token === undefined || token.isProved) return token
    this.forget(hash)
    return undefined
  }

  /** Caches and returns the token. `size`: its characters. Drops the oldest tokens while the sum exceeds `MAX_CHARACTERS`. */
  keep(hash: string, token: CachedToken, size: number): CachedToken {
    this.forget(hash)
    this.#tokens.set(hash, { token, size })
    this.#size += size
    for (const [first] of this.#tokens) {
      if (this.#size <= MAX_CHARACTERS) break
      this.forget(first)
    }
    return token
  }

  forget(hash: string): void {
    this.#size -= this.#tokens.get(hash)?.size ?? 0
    this.#tokens.delete(hash)
  }
}
