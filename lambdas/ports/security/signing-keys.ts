/**
 * Keys that sign the tokens of the server: RSA of 2,048 bits, RS256. No method returns a private key. auth/tokens/key-rotation.ts decides
 * when a key signs, and until when it is published.
 *
 * Guarantees: a key that `make` returned is in each later `list`, in any process, until it is removed. `sign` works for every listed key.
 */

/** Public key as a JSON Web Key. https://www.rfc-editor.org/rfc/rfc7517 */
export type PublicKey = {
  readonly kty: 'RSA'
  readonly n: string
  readonly e: string
  readonly alg: 'RS256'
  readonly use: 'sig'
  /** Key id: the thumbprint of the key. https://www.rfc-editor.org/rfc/rfc7638 */
  readonly kid: string
}

/**
 * Signing key with the times of its creation and retirement, in milliseconds since 1970. From `retiredAt` on it signs nothing; that time
 * may lie in the future.
 */
export type SigningKey = { readonly key: PublicKey; readonly madeAt: number; readonly retiredAt?: number }

/** Compares keys: the oldest first, and keys of the same age by their key ids. */
export const compareKeyAges = (a: SigningKey, b: SigningKey): number => a.madeAt - b.madeAt || (a.key.kid < b.key.kid ? -1 : 1)

/** Public keys without the means to sign, for functions that only verify tokens. */
export interface PublishedKeys {
  /** Returns the keys, the oldest first. */
  list(): Promise<readonly SigningKey[]>
}

export interface SigningKeys extends PublishedKeys {
  /** Returns the signature of the data: RSASSA-PKCS1-v1_5 with SHA-256. Throws if the key does not exist. */
  sign(kid: string, data: Uint8Array): Promise<Uint8Array>
  make(at: number): Promise<SigningKey>
  /** Sets `retiredAt` of a key. A later call replaces it. Does nothing if the key does not exist. */
  retire(kid: string, at: number): Promise<void>
  /** Removes the key. Does nothing if it does not exist. */
  remove(kid: string): Promise<void>
}
