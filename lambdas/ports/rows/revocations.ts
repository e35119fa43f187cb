/**
 * Tokens that no longer count, by marks they carry.
 *
 * Guarantees: once `revoke` has resolved, each `revoked` that begins later tells of it, in any process, until the mark's `until`; it survives the
 * machine. A mark is any text after its kind: tokens of other issuers carry what they like.
 */

/** `jti:…` a token, `sid:…` a session with all its tokens, `client:…`, `user:…` (a subject); ALL. */
export type RevocationKey = `${'jti' | 'sid' | 'client' | 'user'}:${string}` | typeof ALL_TOKENS

/** Of whatever was issued. */
export const ALL_TOKENS = 'all'

/** Of a client's id or a user's subject. `generation`: as it stands there; absent: all that was issued without one. */
export const revocationKeyOf = (kind: 'client' | 'user', name: string, generation?: string): RevocationKey =>
  generation === undefined ? `${kind}:${name}` : `${kind}:${name} ${generation}`

/** Milliseconds since 1970. `before`: tokens with this mark issued at or before it are refused. `until`: none of them is valid any more. */
export type Revocation = { readonly mark: RevocationKey; readonly before: number; readonly until: number }

/** What functions that hold resources are given. */
export interface RevocationReader {
  /** Of each mark that has one: the `before`. */
  revoked(marks: readonly RevocationKey[]): Promise<ReadonlyMap<RevocationKey, number>>
}

export interface Revocations extends RevocationReader {
  /** Of two for one mark the later `before` and the later `until` count. */
  revoke(revocation: Revocation): Promise<void>
  /** Frees the room of what no token can carry any more. */
  sweep(): Promise<void>
}
