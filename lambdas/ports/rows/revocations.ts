/**
 * Revoked tokens, by revocation key.
 *
 * Guarantees: once `revoke` has resolved, each `revoked` call that begins later returns the revocation, in any process, until its `until`.
 * It survives a machine failure. A revocation key is any text after its kind, because tokens of other issuers may contain any text.
 */

/**
 * Key by which tokens are revoked. `jti:…`: one token. `sid:…`: everything of a grant or session. `client:…`: everything of a client.
 * `user:…`: everything of a user's subject. ALL_TOKENS: everything.
 */
export type RevocationKey = `${'jti' | 'sid' | 'client' | 'user'}:${string}` | typeof ALL_TOKENS

/** Revocation key that covers every token and session. */
export const ALL_TOKENS = 'all'

/**
 * Returns the revocation key of a client's id or a user's subject. `generation`: covers what was issued under this credential generation;
 * absent: covers what was issued without one.
 */
export const revocationKeyOf = (kind: 'client' | 'user', name: string, generation?: string): RevocationKey =>
  generation === undefined ? `${kind}:${name}` : `${kind}:${name} ${generation}`

/**
 * Revocation of a key. Times are in milliseconds since 1970. `before`: everything with the key that was issued at or before it is rejected.
 * `until`: end of the revocation, when all of that has expired.
 */
export type Revocation = { readonly mark: RevocationKey; readonly before: number; readonly until: number }

/** Read-only revocations, for the functions that serve resources. */
export interface RevocationReader {
  /** Returns the revoked ones of the keys, each with its `before`. */
  revoked(marks: readonly RevocationKey[]): Promise<ReadonlyMap<RevocationKey, number>>
}

export interface Revocations extends RevocationReader {
  /** Adds a revocation. If the key has one already, the later `before` and the later `until` apply. */
  revoke(revocation: Revocation): Promise<void>
  /** Removes revocations after their `until` to free their space. */
  sweep(): Promise<void>
}
