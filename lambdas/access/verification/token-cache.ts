/** Tokens that were verified, by the SHA-256 of their text, so that their signatures are looked at once; and whether they were revoked since. */
import { Unavailable } from '../../ports/faults/unavailable.ts'
import type { RevocationKey, RevocationReader } from '../../ports/rows/revocations.ts'
import { findRevocationKey } from './revocation-check.ts'
import type { ParsedToken } from './token-claims.ts'
import type { TrustedIssuer } from './trusted-issuer.ts'
import type { VerifiedToken } from './verified-token.ts'

/** Characters of all tokens that are remembered: thousands of usual ones. What is made of one grows with it. */
const MOST = 6_000_000

/** A clock may be set back. */
const isRecent = (at: number, now: number, lag: number): boolean => now >= at && now < at + lag

export class CachedToken {
  readonly token: ParsedToken
  readonly issuer: TrustedIssuer
  readonly #generation: number
  #revokedBy: RevocationKey | undefined
  #lastIn: VerifiedToken | undefined
  /** When it was not revoked. */
  #clearAt = Number.NEGATIVE_INFINITY
  #look: { readonly at: number; readonly done: Promise<void> } | undefined

  constructor(token: ParsedToken, issuer: TrustedIssuer) {
    this.token = token
    this.issuer = issuer
    this.#generation = issuer.generation
  }

  /** The same object as long as it is about the same tenant: what is made of it is found again. */
  in(tenant: string): VerifiedToken {
    if (this.#lastIn?.tenant !== tenant) this.#lastIn = { ...this.token.known, tenant }
    return this.#lastIn
  }

  /** Its key is still one of its issuer's. */
  get isProved(): boolean {
    return this.#generation === this.issuer.generation
  }

  /** Returns the revocation as of at most `lag` milliseconds ago, or undefined if there is none. Throws Unavailable if the store does not respond. */
  revokedBy(revocations: RevocationReader, now: number, lag: number): RevocationKey | undefined | Promise<RevocationKey | undefined> {
    if (this.#revokedBy !== undefined || isRecent(this.#clearAt, now, lag)) return this.#revokedBy
    if (this.#look === undefined || !isRecent(this.#look.at, now, lag)) this.#look = { at: now, done: this.#ask(revocations, now) }
    return this.#look.done.then(() => this.#revokedBy)
  }

  async #ask(revocations: RevocationReader, at: number): Promise<void> {
    try {
      const { marks, issuedAt } = this.token
      const mark = await findRevocationKey(revocations, marks, issuedAt)
      if (mark === undefined) this.#clearAt = at
      else this.#revokedBy = mark
    } catch (cause) {
      throw new Unavailable('revocations cannot be read', { cause })
    } finally {
      if (this.#look?.at === at) this.#look = undefined
    }
  }
}

export class TokenCache {
  readonly #byHash = new Map<string, { readonly token: CachedToken; readonly size: number }>()
  #size = 0

  /** What is no longer proved is forgotten. */
  find(hash: string): CachedToken | undefined {
    const token = this.#byHash.get(hash)?.token
    if (token === undefined || token.isProved) return token
    this.forget(hash)
    return undefined
  }

  /** `size`: characters. The ones that came first give way. */
  keep(hash: string, token: CachedToken, size: number): CachedToken {
    this.forget(hash)
    this.#byHash.set(hash, { token, size })
    this.#size += size
    for (const [first] of this.#byHash) {
      if (this.#size <= MOST) break
      this.forget(first)
    }
    return token
  }

  forget(hash: string): void {
    this.#size -= this.#byHash.get(hash)?.size ?? 0
    this.#byHash.delete(hash)
  }
}
