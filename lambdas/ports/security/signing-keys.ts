/**
 * Keys that sign the tokens of the server: RSA of 2,048 bits, RS256. Private keys stay behind the port. auth/tokens/key-rotation.ts decides
 * when a key is used, and until when it is published.
 *
 * Guarantees: each later `list`, in any process, contains a key that `make` returned, until it is removed. `sign` works for every listed
 * key.
 */

/** Public key. https://www.rfc-editor.org/rfc/rfc7517 */
export type PublicKey = {
  readonly kty: 'RSA'
  readonly n: string
  readonly e: string
  readonly alg: 'RS256'
  readonly use: 'sig'
  /** Thumbprint of the key: https://www.rfc-editor.org/rfc/rfc7638 */
  readonly kid: string
}

/** Times in milliseconds since 1970. `retiredAt`: from then on the key signs nothing; it may lie in the future. */
export type SigningKey = { readonly key: PublicKey; readonly madeAt: number; readonly retiredAt?: number }

/** Sorts the oldest key first, and keys of the same age by their kids. */
export const compareKeyAges = (a: SigningKey, b: SigningKey): number => a.madeAt - b.madeAt || (a.key.kid < b.key.kid ? -1 : 1)

/** Public keys, for the functions that only verify tokens. */
export interface PublishedKeys {
  /** Returns the keys, the oldest first. */
  list(): Promise<readonly SigningKey[]>
}

export interface SigningKeys extends PublishedKeys {
  /** Signs with RSASSA-PKCS1-v1_5 and SHA-256. Throws if the key does not exist. */
  sign(kid: string, data: Uint8Array): Promise<Uint8Array>
  make(at: number): Promise<SigningKey>
  /** Sets `retiredAt`. The last call applies. Does nothing if the key does not exist. */
  retire(kid: string, at: number): Promise<void>
  /** Removes the key. Does nothing if it does not exist. */
  remove(kid: string): Promise<void>
}
