/**
 * The keys our tokens are signed with: RSA of 2,048 bits, RS256. What is secret stays behind the port. When a key is used, and until when it
 * is published, is auth/tokens/key-rotation.ts's to say.
 *
 * Guarantees: a key that `make` resolved with is in each later `list`, in any process, until it is removed; `sign` works for each that is.
 */

/** A public key. https://www.rfc-editor.org/rfc/rfc7517 */
export type PublicKey = {
  readonly kty: 'RSA'
  readonly n: string
  readonly e: string
  readonly alg: 'RS256'
  readonly use: 'sig'
  /** Its thumbprint: https://www.rfc-editor.org/rfc/rfc7638 */
  readonly kid: string
}

/** Milliseconds since 1970. `retiredAt`: nothing is signed with it from then on; it may lie ahead. */
export type SigningKey = { readonly key: PublicKey; readonly madeAt: number; readonly retiredAt?: number }

/** The oldest first; of one age in the order of their kids. */
export const compareKeyAges = (a: SigningKey, b: SigningKey): number => a.madeAt - b.madeAt || (a.key.kid < b.key.kid ? -1 : 1)

/** What functions that verify are given. */
export interface PublishedKeys {
  /** By age. */
  list(): Promise<readonly SigningKey[]>
}

export interface SigningKeys extends PublishedKeys {
  /** RSASSA-PKCS1-v1_5 with SHA-256. Error where there is no such key. */
  sign(kid: string, data: Uint8Array): Promise<Uint8Array>
  make(at: number): Promise<SigningKey>
  /** The last `at` counts. Nothing happens where there is no such key. */
  retire(kid: string, at: number): Promise<void>
  /** Nothing happens where there is no such key. */
  remove(kid: string): Promise<void>
}
