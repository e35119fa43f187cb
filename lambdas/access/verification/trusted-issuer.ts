/** Verifies signature, issuer and audience of a token with the cached keys of its issuer. */
import type { UnverifiedToken } from './bearer-token.ts'
import { JwtInvalidAudienceError, JwtInvalidSignatureError, JwtVerifier } from './jwt-verifier.ts'
import type { KeyCache } from './key-cache.ts'
import { invalidTokenError } from './token-errors.ts'

export type Claims = Readonly<Record<string, unknown>>

export type IssuerRules = { readonly issuer: string; readonly audience: string; readonly algorithms: readonly string[] }

/** Required key type (`kty`) by the first two letters of the algorithm. https://www.rfc-editor.org/rfc/rfc7518#section-3.1 */
const KEYS_OF: Readonly<Record<string, string>> = { RS: 'RSA', ES: 'EC', Ed: 'OKP' }

export class TrustedIssuer {
  /** Number of signature checks, including failed ones; for tests. */
  signatures = 0
  readonly #rules: IssuerRules
  readonly #keys: KeyCache
  readonly #verifier
  #cached = 0

  constructor(rules: IssuerRules, keys: KeyCache) {
    this.#rules = rules
    this.#keys = keys
    // Unlimited grace disables the library's check of `exp` and `nbf`: token-claims.ts checks them by the server's clock. `cacheJwks`
    // supplies the keys, so the library never fetches `jwksUri`.
    const { issuer, audience } = rules
    this.#verifier = JwtVerifier.create({ issuer, audience, jwksUri: 'https://held.invalid/', graceSeconds: Number.POSITIVE_INFINITY })
  }

  get generation(): number {
    return this.#keys.generation
  }

  /** Reads outdated keys again and returns the read to wait for, as `KeyCache.refresh`. */
  refresh(now: number): Promise<void> | undefined {
    return this.#keys.refresh(now)
  }

  /**
   * Checks algorithm and key of a token before `claimsOf`. Throws FhirError 401 if the issuer does not use them, and the fault
   * `unavailable` if its keys cannot be read.
   */
  async findKey({ algorithm, kid }: UnverifiedToken): Promise<void> {
    if (!this.#rules.algorithms.includes(algorithm)) throw invalidTokenError('The token is signed by an algorithm that is not accepted')
    const key = await this.#keys.find(kid)
    if (key === undefined) throw invalidTokenError('The token is signed with a key that is not known')
    // guard: key-type-matches-algorithm
    if (key.kty !== KEYS_OF[algorithm.slice(0, 2)]) throw invalidTokenError('The token is signed by an algorithm that its key is not for')
  }

  /** Verifies a token that `findKey` accepted, and returns its claims. Throws FhirError 401 if signature, issuer or audience is wrong. */
  claimsOf(text: string): Claims {
    if (this.#cached !== this.generation) {
      this.#verifier.cacheJwks({ keys: [...this.#keys.keys] })
      this.#cached = this.generation
    }
    this.signatures++
    try {
      return this.#verifier.verifySync(text)
    } catch (error) {
      throw invalidTokenError(reasonOf(error))
    }
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof JwtInvalidAudienceError) return 'The token is not meant for this server'
  return error instanceof JwtInvalidSignatureError ? 'The signature of the token is wrong' : 'The token is malformed'
}
