/**
 * Digests of queries, for audit records: who has no key cannot find out by trying what was searched for.
 *
 * Guarantees: equal texts have equal digests, for as long as the server keeps its key. A digest has 22 characters of `[A-Za-z0-9_-]`.
 */
export interface QueryDigest {
  digest(query: string): string
}
