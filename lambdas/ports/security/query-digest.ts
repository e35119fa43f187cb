/**
 * Digests of queries for audit records. A reader without the key cannot find the query by guessing.
 *
 * Guarantees: equal texts have equal digests, for as long as the server keeps its key. A digest has 22 characters of `[A-Za-z0-9_-]`.
 */
export interface QueryDigest {
  digest(query: string): string
}
