/**
 * Digests of queries, computed with a secret key, for audit records and for keys of stored content. Without the key a reader cannot find
 * the query by computing the digests of likely queries.
 *
 * Guarantees: equal texts have equal digests while the server keeps its key. A digest has 22 characters of `[A-Za-z0-9_-]`.
 */
export interface QueryDigest {
  digest(query: string): string
}
