/**
 * Revoked tokens, by revocation key.
 *
 * Guarantees: once `revoke` has resolved, each `revoked` call that begins later reports it, in any process, until its `until`. It survives
 * a machine failure. A revocation key is any text after its kind, because tokens of other issuers may carry any text.
 */

/** `jti:…`: a token. `sid:…`: a session with all its tokens. `client:…`: a client. `user:…`: a subject. ALL_TOKENS: everything. */
export type RevocationKey = `${'jti' | 'sid' | 'client' | 'user'}:${string}` | typeof ALL_TOKENS

/** Revocation key that covers every token and session. */
export const ALL_TOKENS = 'all'

/**
 * Returns the revocation key of a client's id or a user's subject. `generation`: its credential generation; absent: covers everything that
 * was issued without one.
 */
export const revocationKeyOf = (kind: 'client' | 'user', name: string, generation?: string): RevocationKey =>
  generation === undefined ? `${kind}:${name}` : `${kind}:${name} ${generation}`

/**
 * Times in milliseconds since 1970. `before`: tokens with this key that were issued at or before it are rejected. `until`: all of them have
 * expired by then.
 */
export type Revocation = { readonly mark: RevocationKey; readonly before: number; readonly until: number }

/** Read-only revocations, for the functions that serve resources. */
export interface RevocationReader {
  /** Returns `before` for each of the keys that has a revocation. */
  revoked(marks: readonly RevocationKey[]): Promise<ReadonlyMap<RevocationKey, number>>
}

export interface Revocations extends RevocationReader {
  /** Adds a revocation. If the key has one already, the later `before` and the later `until` apply. */
  revoke(revocation: Revocation): Promise<void>
  /** Frees the space of revocations after their `until`. */
  sweep(): Promise<void>
}
